-- The inbox. $1 consumer  $2 message_id
select pillarbox.once($1::text, $2::uuid);
