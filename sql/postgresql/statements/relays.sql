-- Relays heard of in the last day, newest first.
select claimed_by, version, workers, leases_held, (extract(epoch from started_at) * 1000000)::bigint as started_at,
       (extract(epoch from heartbeat_at) * 1000000)::bigint as heartbeat_at, draining
from pillarbox.relay
where heartbeat_at > now() - interval '1 day'
order by heartbeat_at desc
limit 500;
