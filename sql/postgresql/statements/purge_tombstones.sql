-- Removes a batch of tombstones. $1 older than, ms  $2 at most so many
with gone as (
  delete from pillarbox.dead_letter
  where (outbox_id, life) in (select outbox_id, life from pillarbox.dead_letter
                              where discarded_at < now() - $1::bigint * interval '1 millisecond'
                              order by outbox_id limit $2 for update skip locked)
  returning 1
)
select count(*) as removed from gone;
