-- This relay lives. $1 claimed_by  $2 version  $3 workers  $4 leases held  $5 draining. Returns whether it was asked to drain.
with silent as (
  delete from pillarbox.relay where heartbeat_at < now() - interval '1 day' and claimed_by <> $1
)
insert into pillarbox.relay as r (claimed_by, version, workers, leases_held, draining)
values ($1, $2, $3, $4, $5)
on conflict (claimed_by) do update
set version = excluded.version, workers = excluded.workers, leases_held = excluded.leases_held,
    draining = excluded.draining, heartbeat_at = clock_timestamp()
returning r.drain_asked;
