-- The dead letters of one message, oldest first, tombstones included.
--   :id
-- Index: the primary key. Locks: nothing.
select d.outbox_id, d.life, d.message_id, d.job_type, d.ordering_key, d.reason, d.code, d.error, d.attempts, d.dead_at,
       d.holds_key, d.discarded_at, d.discarded_by, d.discard_reason
from pillarbox_dead_letter d
where d.outbox_id = :id
order by d.life;
