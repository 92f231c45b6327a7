-- What waits, why, and how old it is. Each count stops at 10 001 rows.
with brakes as materialized (
  select scope from pillarbox.brake
), waiting as materialized (
  (select id, job_type, ordering_key, status, available_at, locked_until, attempts from pillarbox.outbox
   where live and ordering_key is null order by available_at limit 10001)
  union all
  (select id, job_type, ordering_key, status, available_at, locked_until, attempts from pillarbox.outbox
   where live and ordering_key is not null limit 10001)
), seen as materialized (
  select w.*,
         case
           when w.status = 1 and w.locked_until >= now() then 'claimed'
           when exists (select from brakes as b
                        where b.scope in ('all', 'type:' || w.job_type)
                           or (b.scope like '%*' and starts_with('type:' || w.job_type, left(b.scope, -1)))) then 'braked'
           when w.available_at > now() then case when w.attempts > 0 then 'retrying' else 'delayed' end
           when w.ordering_key is not null
                and (exists (select from pillarbox.dead_letter as d
                             where d.holds_key and d.ordering_key = w.ordering_key and d.outbox_id < w.id)
                     or exists (select from pillarbox.outbox as p
                                where p.live and p.ordering_key = w.ordering_key and p.id < w.id)) then 'held'
           when w.attempts > 0 then 'retrying'
           else 'ready'
         end as view
  from waiting as w
)
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
       (select count(*) from seen where view = 'ready') as ready,
       (select count(*) from seen where view = 'delayed') as delayed,
       (select count(*) from seen where view = 'retrying') as retrying,
       (select count(*) from seen where view = 'held') as held,
       (select count(*) from seen where view = 'braked') as braked,
       (select count(*) from seen where view = 'claimed') as claimed,
       (select count(*) from (select from pillarbox.dead_letter where discarded_at is null limit 10001) as d) as dead,
       (select count(*) from (select from pillarbox.dead_letter
                              where discarded_at is null and dead_at > now() - interval '1 day' limit 10001) as d)
         as dead_last_day,
       (select (extract(epoch from min(available_at)) * 1000000)::bigint from seen
        where view in ('ready', 'retrying') and available_at <= now()) as oldest_ready_at,
       (select (extract(epoch from max(dispatched_at)) * 1000000)::bigint
        from (select dispatched_at from pillarbox.outbox order by id desc limit 1000) as newest) as last_dispatched_at,
       (select count(*) from (select dispatched_at from pillarbox.outbox order by id desc limit 10001) as newest
        where dispatched_at > now() - interval '1 minute') as dispatched_last_minute;
