-- Dead letters, newest first, tombstones included when asked for. Conditions are null when not given.
-- $1 outbox_id below  $2 at most so many  $3 outbox ids  $4 message ids  $5 types (LIKE)  $6 not types (LIKE)  $7 keys
-- $8 reasons  $9 not reasons  $10 error contains  $11 tombstones too
-- Walks the primary key backwards, at most 10 000 rows.
select outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts,
       (extract(epoch from dead_at) * 1000000)::bigint as dead_at, holds_key,
       (extract(epoch from discarded_at) * 1000000)::bigint as discarded_at, discarded_by, discard_reason
from (select outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts, dead_at, holds_key,
             discarded_at, discarded_by, discard_reason
      from pillarbox.dead_letter
      where outbox_id < $1 and ($3::bigint[] is null or outbox_id = any ($3::bigint[]))
        and ($11::boolean or discarded_at is null)
      order by outbox_id desc, life desc
      limit 10000) as d
where ($4::uuid[] is null or message_id = any ($4::uuid[]))
  and ($5::text[] is null or job_type like any ($5::text[]))
  and ($6::text[] is null or not (job_type like any ($6::text[])))
  and ($7::text[] is null or ordering_key = any ($7::text[]))
  and ($8::text[] is null or reason = any ($8::text[]))
  and ($9::text[] is null or not (reason = any ($9::text[])))
  and ($10::text is null or position($10::text in error) > 0)
order by outbox_id desc, life desc
limit $2;
