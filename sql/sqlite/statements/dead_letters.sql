-- Dead letters, newest first. The reader applies the rest of the filter and stops when it has enough.
--   :before       only numbers below
--   :ids          JSON array of numbers, or null for all
--   :tombstones   1: also those that were discarded
-- Index: the primary key, backwards. Locks: nothing.
select d.outbox_id, d.life, d.message_id, d.job_type, d.ordering_key, d.reason, d.code, d.error, d.attempts, d.dead_at,
       d.holds_key, d.discarded_at, d.discarded_by, d.discard_reason
from pillarbox_dead_letter d
where d.outbox_id < :before
  and (:ids is null or d.outbox_id in (select value from json_each(:ids)))
  and (:tombstones or d.discarded_at is null)
order by d.outbox_id desc, d.life desc;
