-- One message. $1 job_type  $2 payload  $3 content_type  $4 headers  $5 message_id  $6 correlation_id  $7 ordering_key
-- $8 delay, ms  $9 expires in, ms or null
select pillarbox.enqueue($1::text, $2::bytea, $3::text, $4::json, $5::uuid, $6::text, $7::text,
                         delay => nullif($8::bigint, 0) * interval '1 millisecond',
                         expires_at => clock_timestamp() + $9::bigint * interval '1 millisecond');
