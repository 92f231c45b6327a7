-- Messages that meet every condition that is given (null: not given), newest first, without payloads.
-- $1 id below  $2 at most so many  $3 look at so many rows at the most
-- $4 ids  $5 message_ids  $6 statuses  $7 views  $8 types (LIKE)  $9 not types (LIKE)  $10 keys  $11 correlation ids
-- $12 reasons  $13 not reasons  $14 attempts from  $15 attempts to  $16 occurred from  $17 occurred before
-- $18 older than, ms  $19 younger than, ms  $20 error contains  $21 headers, all of these
--
-- Ids come by key; live and dead rows from their own indexes; everything else walks the primary key backwards, a
-- bounded number of rows. Returns at least one row, of nulls when nothing was found: scanned says how far it looked.
with candidate as materialized (
  (select id from pillarbox.outbox where $4::bigint[] is not null and id = any ($4::bigint[]) and id < $1)
  union
  (select id from pillarbox.outbox where $5::uuid[] is not null and message_id = any ($5::uuid[]) and id < $1)
  union
  (select id from pillarbox.outbox
   where $4::bigint[] is null and $5::uuid[] is null and $6::smallint[] <@ array[0, 1]::smallint[]
     and live and ordering_key is null and id < $1
   order by available_at desc limit $3)
  union
  (select id from pillarbox.outbox
   where $4::bigint[] is null and $5::uuid[] is null and $6::smallint[] <@ array[0, 1]::smallint[]
     and live and ordering_key is not null and id < $1
     and ($10::text[] is null or ordering_key = any ($10::text[]))
   limit $3)
  union
  (select outbox_id from pillarbox.dead_letter
   where $4::bigint[] is null and $5::uuid[] is null and $6::smallint[] <@ array[3]::smallint[]
     and discarded_at is null and outbox_id < $1
   order by outbox_id desc limit $3)
  union
  (select id from pillarbox.outbox
   where $4::bigint[] is null and $5::uuid[] is null
     and ($6::smallint[] is null
          or not ($6::smallint[] <@ array[0, 1]::smallint[] or $6::smallint[] <@ array[3]::smallint[]))
     and id < $1
   order by id desc limit $3)
), brakes as materialized (
  select scope from pillarbox.brake
), shown as (
  select o.id, o.message_id, o.job_type, o.status,
         case
           when o.status = 2 then 'dispatched'
           when o.status = 3 then 'dead'
           when o.status = 1 then 'claimed'
           when exists (select from brakes as b
                        where b.scope in ('all', 'type:' || o.job_type)
                           or (b.scope like '%*' and starts_with('type:' || o.job_type, left(b.scope, -1)))) then 'braked'
           when o.available_at > now() then case when o.attempts > 0 then 'retrying' else 'delayed' end
           when o.ordering_key is not null
                and (exists (select from pillarbox.dead_letter as d
                             where d.holds_key and d.ordering_key = o.ordering_key and d.outbox_id < o.id)
                     or exists (select from pillarbox.outbox as p
                                where p.live and p.ordering_key = o.ordering_key and p.id < o.id)) then 'held'
           when o.attempts > 0 then 'retrying'
           else 'ready'
         end as view,
         o.content_type, o.headers::text as headers, o.correlation_id, o.ordering_key, o.occurred_at, o.available_at,
         o.expires_at, o.claimed_by, o.locked_until, o.claim_no, o.attempts, o.life, o.dispatched_at, o.last_error
  from candidate as c
  join pillarbox.outbox as o on o.id = c.id
  where ($6::smallint[] is null or o.status = any ($6::smallint[]))
    and ($8::text[] is null or o.job_type like any ($8::text[]))
    and ($9::text[] is null or not (o.job_type like any ($9::text[])))
    and ($10::text[] is null or o.ordering_key = any ($10::text[]))
    and ($11::text[] is null or o.correlation_id = any ($11::text[]))
    and ($12::text[] is null or exists (select from pillarbox.dead_letter as d where d.outbox_id = o.id
                                        and d.life = o.life and d.reason = any ($12::text[])))
    and ($13::text[] is null or not exists (select from pillarbox.dead_letter as d where d.outbox_id = o.id
                                            and d.life = o.life and d.reason = any ($13::text[])))
    and ($14::integer is null or o.attempts >= $14::integer)
    and ($15::integer is null or o.attempts <= $15::integer)
    and ($16::bigint is null or o.occurred_at >= to_timestamp($16::bigint / 1000000.0))
    and ($17::bigint is null or o.occurred_at < to_timestamp($17::bigint / 1000000.0))
    and ($18::bigint is null or o.occurred_at < now() - $18::bigint * interval '1 millisecond')
    and ($19::bigint is null or o.occurred_at > now() - $19::bigint * interval '1 millisecond')
    and ($20::text is null or position($20::text in o.last_error) > 0)
    and ($21::jsonb is null or o.headers::jsonb @> $21::jsonb)
)
select s.id, s.message_id, s.job_type, s.status, s.view, s.content_type,
       -- Through the view: who may look need not be allowed to read payloads.
       (select m.payload_bytes from pillarbox.messages as m where m.id = s.id) as payload_bytes,
       s.headers, s.correlation_id, s.ordering_key, (extract(epoch from s.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from s.available_at) * 1000000)::bigint as available_at,
       (extract(epoch from s.expires_at) * 1000000)::bigint as expires_at, s.claimed_by,
       (extract(epoch from s.locked_until) * 1000000)::bigint as locked_until, s.claim_no, s.attempts, s.life,
       (extract(epoch from s.dispatched_at) * 1000000)::bigint as dispatched_at, s.last_error,
       n.scanned
from (select count(*) as scanned from candidate) as n
left join shown as s on $7::text[] is null or s.view = any ($7::text[])
order by s.id desc nulls last
limit $2;
