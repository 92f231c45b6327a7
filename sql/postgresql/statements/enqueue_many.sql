-- Many messages: arrays of one length. $1 job_types  $2 payloads  $3 content_types  $4 headers (text)  $5 message_ids
-- $6 correlation_ids  $7 ordering_keys  $8 delays, ms  $9 expires in, ms or null
select pillarbox.enqueue_many(
  $1::text[], $2::bytea[], $3::text[], (select array_agg(h::json order by n) from unnest($4::text[]) with ordinality as u (h, n)),
  $5::uuid[], $6::text[], $7::text[],
  (select array_agg(nullif(d, 0) * interval '1 millisecond' order by n) from unnest($8::bigint[]) with ordinality as u (d, n)),
  (select array_agg(clock_timestamp() + e * interval '1 millisecond' order by n) from unnest($9::bigint[]) with ordinality as u (e, n)));
