-- Claims due messages that have an ordering_key: of each key only its head, the live message with the smallest id.
--
-- $1 claimed_by  $2 lease, ms  $3 at most so many  $4 at most so many payload bytes (one message is always taken)
-- $5 go on after this key ('' from the first)  $6 job types to leave alone  $7 look at so many keys at the most
--
-- Jumps in index outbox_keys from one key to the next: the cost is per key, however many messages wait behind its head.
-- A head that is claimed, delayed, waiting for its retry, braked, or held by an earlier dead letter holds its key back.
-- Returns at least one row: every row says how far it came (last_key, visited), and columns of a message are null when
-- none was claimed. In no promised order: the caller sorts.
with recursive brakes as materialized (
  select scope from pillarbox.brake
), head as (
  (select o.id, o.ordering_key, 1 as step
   from pillarbox.outbox as o
   where o.live and o.ordering_key > $5
   order by o.ordering_key, o.id
   limit 1)
  union all
  select n.id, n.ordering_key, h.step + 1
  from head as h
  cross join lateral (select o.id, o.ordering_key
                      from pillarbox.outbox as o
                      where o.live and o.ordering_key > h.ordering_key
                      order by o.ordering_key, o.id
                      limit 1) as n
  where h.step < $7::int
), due as materialized (
  select o.ctid as place, o.id, o.status as old_status, octet_length(o.payload) as bytes
  from pillarbox.outbox as o
  where o.id = any (array(select id from head))
    and o.live and o.available_at <= now()
    and (o.status = 0 or o.locked_until < now())
    and o.claim_no < 4611686018427387904
    and o.job_type <> all ($6::text[])
    and not exists (select from pillarbox.dead_letter as d
                    where d.holds_key and d.ordering_key = o.ordering_key and d.outbox_id < o.id)
    -- Only a replay can put a head before a message that is under way.
    and (o.life = 0 or not exists (select from pillarbox.outbox as p
                                   where p.live and p.ordering_key = o.ordering_key and p.id > o.id and p.status = 1
                                     and p.locked_until >= now()))
    and not exists (select from brakes where scope = 'all')
    and (not exists (select from brakes)
         or not exists (select from brakes as b
                        where b.scope = 'type:' || o.job_type
                           or (b.scope like '%*' and starts_with('type:' || o.job_type, left(b.scope, -1)))))
  limit $3
  for update skip locked
), taken as materialized (
  select d.place, d.id, d.old_status
  from (select due.*, sum(bytes) over so_far as bytes_so_far, row_number() over so_far as nth
        from due window so_far as (rows unbounded preceding)) as d
  where d.nth = 1 or d.bytes_so_far <= $4::bigint
), lost as (
  insert into pillarbox.attempt (outbox_id, life, attempt, claim_no, claimed_by, started_at, outcome, code, error)
  select t.id, o.life, o.attempts, o.claim_no, o.claimed_by, null, 'lease_lost', 'lease_lost',
         'the lease ran out before the relay said what became of it'
  from taken as t join pillarbox.outbox as o on o.ctid = t.place
  where t.old_status = 1
), claimed as (
  update pillarbox.outbox as o
  set status = 1, claimed_by = $1, locked_until = now() + $2::bigint * interval '1 millisecond',
      claim_no = o.claim_no + 1,
      attempts = least(o.attempts, 2147483646) + 1
  where o.ctid = any (array(select place from taken))
  returning o.id, o.claim_no, o.message_id, o.job_type, o.payload, o.content_type, o.headers::text as headers,
            o.correlation_id, o.ordering_key, o.occurred_at, o.available_at, o.attempts, o.life,
            coalesce(o.expires_at <= now(), false) as expired
)
select c.id, c.claim_no, c.message_id, c.job_type, c.payload, c.content_type, c.headers, c.correlation_id,
       c.ordering_key, c.occurred_at, c.available_at, c.attempts, c.life, c.expired,
       c.id = any (array(select id from taken where old_status = 1)) as reclaimed,
       v.visited, v.last_key, (select count(*) from due) as seen
from (select count(*) as visited, max(ordering_key) as last_key from head) as v
left join claimed as c on true;
