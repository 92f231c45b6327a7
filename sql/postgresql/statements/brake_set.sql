-- Sets a brake. $1 scope  $2 who  $3 why
with set_now as (
  insert into pillarbox.brake (scope, reason, set_by) values ($1, $3, $2)
  on conflict (scope) do update set reason = excluded.reason, set_by = excluded.set_by, set_at = clock_timestamp()
)
insert into pillarbox.audit (who, action, what, why) values ($2, 'pause', $1, $3);
