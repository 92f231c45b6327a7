-- This relay lives. Returns whether an operator asked it to drain.
--   :claimed_by, :version, :workers, :leases_held, :draining, :now
-- Index: the primary key. Locks: the writer.
insert into pillarbox_relay (claimed_by, version, workers, leases_held, draining, started_at, heartbeat_at)
values (:claimed_by, :version, :workers, :leases_held, :draining, :now, :now)
on conflict (claimed_by) do update
set version = excluded.version, workers = excluded.workers, leases_held = excluded.leases_held,
    draining = excluded.draining, heartbeat_at = excluded.heartbeat_at
returning drain_asked;
