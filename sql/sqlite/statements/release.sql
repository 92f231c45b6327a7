-- An operator takes the lease from a holder that is gone: pending, due now, the attempt stays counted.
--   :id, :claim_no, :now
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 0, claimed_by = null, locked_until = null, available_at = :now
where id = :id
  and status = 1
  and claim_no = :claim_no;
