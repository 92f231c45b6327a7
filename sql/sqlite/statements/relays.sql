-- The relays that report.
-- Index: the primary key. Locks: nothing.
select r.claimed_by, r.version, r.workers, r.leases_held, r.started_at, r.heartbeat_at, r.draining
from pillarbox_relay r
order by r.claimed_by;
