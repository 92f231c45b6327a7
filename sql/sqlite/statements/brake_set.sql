-- Sets a brake. Claims take the same writer lock, so each one that commits later sees it.
--   :scope    all, type:NAME or type:PREFIX*
--   :reason, :set_by, :now
-- Index: the primary key. Locks: the writer.
insert into pillarbox_brake (scope, reason, set_by, set_at) values (:scope, :reason, :set_by, :now)
on conflict (scope) do update set reason = excluded.reason, set_by = excluded.set_by, set_at = excluded.set_at;
