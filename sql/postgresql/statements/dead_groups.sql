-- The newest 10 000 dead letters, for grouping by cause. Walks the primary key backwards.
select outbox_id, job_type, reason, error, (extract(epoch from dead_at) * 1000000)::bigint as dead_at
from pillarbox.dead_letter
where discarded_at is null
order by outbox_id desc
limit 10000;
