-- Leases one message that claim_pending.sql, claim_lost.sql or claim_key.sql found in this transaction: counts an
-- attempt and draws the next claim_no. Both saturate: one row's content cannot stop the claim of others.
--   :id, :now, :lease_ms
--   :claimed_by   host:pid:nonce of the claimant
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 1,
    claimed_by = :claimed_by,
    locked_until = :now + :lease_ms,
    claim_no = claim_no + 1,
    attempts = min(attempts + 1, 2147483647)
where id = :id
  and (status = 0 or (status = 1 and locked_until <= :now));
