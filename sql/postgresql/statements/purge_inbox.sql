-- Removes a batch of the inbox. $1 older than, ms  $2 at most so many
with gone as (
  delete from pillarbox.inbox
  where (consumer, message_id) in (select consumer, message_id from pillarbox.inbox
                                   where handled_at < now() - $1::bigint * interval '1 millisecond'
                                   order by handled_at limit $2 for update skip locked)
  returning 1
)
select count(*) as removed from gone;
