-- The brakes that are set.
-- Index: the primary key. Locks: nothing.
select b.scope, b.reason, b.set_by, b.set_at from pillarbox_brake b order by b.scope;
