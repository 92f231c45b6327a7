-- All brakes.
select scope, reason, set_by, (extract(epoch from set_at) * 1000000)::bigint as set_at from pillarbox.brake order by scope;
