-- The row of a message. $1 message_id
select id from pillarbox.outbox where message_id = $1;
