-- Removes a batch of dispatched rows. $1 older than, ms  $2 at most so many  $3 only ids above
-- Walks the primary key from $3; looks at 20 times as many rows at the most; skips what is locked. Returns how many were removed and
-- where to go on (null: the end was reached).
with looked_at as materialized (
  select id, status, dispatched_at from pillarbox.outbox where id > $3 order by id limit $2::bigint * 20
), old as materialized (
  select o.id from pillarbox.outbox as o
  where o.id = any (array(select id from looked_at
                          where status = 2 and dispatched_at < now() - $1::bigint * interval '1 millisecond'
                          order by id limit $2))
    and o.status = 2
  for update skip locked
), gone as (
  delete from pillarbox.outbox where id = any (array(select id from old)) returning id
), history as (
  delete from pillarbox.attempt where outbox_id = any (array(select id from gone))
)
select (select count(*) from gone) as removed,
       case when (select count(*) from gone) >= $2 then (select max(id) from gone)
            when (select count(*) from looked_at) < $2::bigint * 20 then null
            else (select max(id) from looked_at) end as next;
