-- Policy `park`: the pending messages that wait behind the dead message :id die with it, in order. Their dead letters.
--   :id, :now
-- Index: pillarbox_outbox_key_live. Locks: the writer.
insert into pillarbox_dead_letter
  (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts, dead_at, holds_key)
select o.id, o.life, o.message_id, o.job_type, o.ordering_key, 'parked', 'parked',
       'an earlier message of its ordering_key died', o.attempts, :now, 1
from pillarbox_outbox o indexed by pillarbox_outbox_key_live
where o.ordering_key = (select dead.ordering_key from pillarbox_outbox dead where dead.id = :id)
  and o.ordering_key is not null
  and o.status <= 1
  and o.status = 0
order by o.id;
