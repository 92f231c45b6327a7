-- Claims due messages that have no ordering_key, oldest first.
--
-- $1 claimed_by  $2 lease, ms  $3 at most so many  $4 at most so many payload bytes (one message is always taken)
-- $5 low-water mark: only rows available after it  $6 job types to leave alone
--
-- Walks index outbox_due in its order from the mark on; locks the rows it takes, skips those that others hold, never
-- waits. Finds the locked rows again by their place in the table, which costs no index lookup. The update touches no
-- indexed column. Rows whose lease ran out are taken over, and their lost attempt enters the history.
-- Answers in no promised order: the caller sorts.
with brakes as materialized (
  select scope from pillarbox.brake
), due as materialized (
  select o.ctid as place, o.id, o.status as old_status, octet_length(o.payload) as bytes
  from pillarbox.outbox as o
  where o.live and o.ordering_key is null
    and o.available_at > $5 and o.available_at <= now()
    and (o.status = 0 or o.locked_until < now())
    and o.claim_no < 4611686018427387904
    and o.job_type <> all ($6::text[])
    and not exists (select from brakes where scope = 'all')
    and (not exists (select from brakes)
         or not exists (select from brakes as b
                        where b.scope = 'type:' || o.job_type
                           or (b.scope like '%*' and starts_with('type:' || o.job_type, left(b.scope, -1)))))
  order by o.available_at, o.id
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
)
update pillarbox.outbox as o
set status = 1, claimed_by = $1, locked_until = now() + $2::bigint * interval '1 millisecond',
    claim_no = o.claim_no + 1,
    attempts = least(o.attempts, 2147483646) + 1
where o.ctid = any (array(select place from taken))
returning o.id, o.claim_no, o.message_id, o.job_type, o.payload, o.content_type, o.headers::text as headers,
          o.correlation_id, o.ordering_key, o.occurred_at, o.available_at, o.attempts, o.life,
          coalesce(o.expires_at <= now(), false) as expired, o.id = any (array(select id from taken where old_status = 1)) as reclaimed,
          (select count(*) from due) as seen;
