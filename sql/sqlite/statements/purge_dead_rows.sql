-- Dead letters old enough to leave with their messages; none that holds a key, no tombstone.
--   :before   died then or earlier
--   :batch    at most so many
-- Index: pillarbox_dead_letter_dead_at, oldest first, no sort. Locks: nothing by itself.
select d.outbox_id, d.life
from pillarbox_dead_letter d indexed by pillarbox_dead_letter_dead_at
where d.dead_at <= :before and d.discarded_at is null and d.holds_key = 0
order by d.dead_at
limit :batch;
