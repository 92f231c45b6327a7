-- What has ended: dead letters, and what was dispatched lately. Each count stops at 10 000.
--   :now
-- Index: pillarbox_outbox_dead, pillarbox_dead_letter_dead_at, pillarbox_outbox_dispatched. Locks: nothing.
select (select count(*) from (select 1 from pillarbox_outbox o indexed by pillarbox_outbox_dead
                              where o.status = 3 limit 10000)) as dead,
       (select count(*) from (select 1 from pillarbox_dead_letter d
                              where d.dead_at > :now - 86400000 and d.discarded_at is null
                              order by d.dead_at desc limit 10000)) as dead_last_day,
       (select max(o.dispatched_at) from pillarbox_outbox o indexed by pillarbox_outbox_dispatched
        where o.status = 2) as last_dispatched_at,
       (select count(*) from (select 1 from pillarbox_outbox o indexed by pillarbox_outbox_dispatched
                              where o.status = 2 and o.dispatched_at > :now - 60000
                              limit 10000)) as dispatched_last_minute;
