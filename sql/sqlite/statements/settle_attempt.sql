-- How an attempt ended, for the message's history. Runs before settle_retry.sql, settle_release.sql or settle_dead.sql;
-- adds nothing when the lease is no longer ours.
--   :id, :claimed_by, :claim_no, :now, :took_ms
--   :outcome      retry, release or dead
--   :code, :error
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_attempt
  (outbox_id, life, attempt, claim_no, claimed_by, started_at, ended_at, outcome, code, error, took_ms)
select o.id, o.life, o.attempts, o.claim_no, o.claimed_by, :now - :took_ms, :now, :outcome, :code, :error, :took_ms
from pillarbox_outbox o
where o.id = :id
  and o.status = 1
  and o.claimed_by = :claimed_by
  and o.claim_no = :claim_no;
