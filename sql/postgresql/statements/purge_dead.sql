-- Removes a batch of dead letters with their messages, but none that holds its key. $1 older than, ms  $2 at most so many
with old as materialized (
  select outbox_id from pillarbox.dead_letter
  where discarded_at is null and not holds_key and dead_at < now() - $1::bigint * interval '1 millisecond'
  order by outbox_id limit $2 for update skip locked
), letters as (
  delete from pillarbox.dead_letter where outbox_id = any (array(select outbox_id from old)) and discarded_at is null
), gone as (
  delete from pillarbox.outbox where id = any (array(select outbox_id from old)) and status = 3 returning id
), history as (
  delete from pillarbox.attempt where outbox_id = any (array(select id from gone))
)
select count(*) as removed from old;
