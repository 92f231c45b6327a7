-- The dead letter of a message that settle_dead.sql ends in this transaction.
--   :id, :claimed_by, :claim_no, :now, :reason, :code, :error
--   :holds_key   1: later messages of its ordering_key wait until it is replayed or discarded
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_dead_letter
  (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts, dead_at, holds_key)
select o.id, o.life, o.message_id, o.job_type, o.ordering_key, :reason, :code, :error, o.attempts, :now,
       o.ordering_key is not null and :holds_key
from pillarbox_outbox o
where o.id = :id
  and o.status = 1
  and o.claimed_by = :claimed_by
  and o.claim_no = :claim_no;
