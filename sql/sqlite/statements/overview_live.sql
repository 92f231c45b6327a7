-- Live messages counted by type and by why they wait, with the earliest available_at of each. Looks at no more than
-- 10 001 rows each of those without a key, those under a lease and those with a key, the longest due first where the
-- index allows.
--   :now
-- Index: pillarbox_outbox_pending, pillarbox_outbox_claimed, pillarbox_outbox_key_live. Locks: nothing.
with live (id) as (
  select id from (select o.id from pillarbox_outbox o indexed by pillarbox_outbox_pending
                  where o.status = 0 and o.ordering_key is null order by o.available_at, o.id limit 10001)
  union all
  select id from (select o.id from pillarbox_outbox o indexed by pillarbox_outbox_claimed
                  where o.status = 1 order by o.locked_until limit 10001)
  union all
  select id from (select o.id from pillarbox_outbox o indexed by pillarbox_outbox_key_live
                  where o.ordering_key is not null and o.status <= 1 and o.status = 0 limit 10001)
), seen (job_type, available_at, view) as (
  select o.job_type, o.available_at,
         case
           when o.status = 1 and o.locked_until > :now then 'claimed'
           when exists (select 1 from pillarbox_brake b
                        where b.scope = 'all' or b.scope = 'type:' || o.job_type
                           or (substr(b.scope, -1) = '*'
                               and 'type:' || substr(o.job_type, 1, length(b.scope) - 6) = rtrim(b.scope, '*')))
             then 'braked'
           when o.available_at > :now then case when o.attempts > 0 then 'retrying' else 'delayed' end
           when o.ordering_key is not null
                and (exists (select 1 from pillarbox_outbox earlier indexed by pillarbox_outbox_key_live
                             where earlier.ordering_key = o.ordering_key and earlier.status <= 1 and earlier.id < o.id)
                     or exists (select 1 from pillarbox_dead_letter d indexed by pillarbox_dead_letter_holds_key
                                where d.ordering_key = o.ordering_key and d.outbox_id < o.id and d.holds_key = 1))
             then 'held'
           when o.attempts > 0 then 'retrying'
           else 'ready'
         end
  from live join pillarbox_outbox o on o.id = live.id
)
select s.job_type, s.view, count(*) as waiting, min(case when s.available_at <= :now then s.available_at end) as oldest_at
from seen s
group by s.job_type, s.view;
