-- The newest 10 000 dead letters, to be grouped by cause.
-- Index: the primary key, backwards. Locks: nothing.
select d.outbox_id, d.job_type, d.reason, d.error, d.dead_at
from pillarbox_dead_letter d
where d.discarded_at is null
order by d.outbox_id desc, d.life desc
limit 10000;
