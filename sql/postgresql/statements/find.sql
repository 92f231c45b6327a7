-- The row of a message. $1 message_id
select id from pillarbox.outbox where message_id = $1
union all
select max(outbox_id) from pillarbox.dead_letter where message_id = $1 and discarded_at is not null
limit 1;
