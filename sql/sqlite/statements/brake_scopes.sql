-- The brakes that are set, one scope a line; null when there are none.
-- Index: the primary key of pillarbox_brake. Locks: nothing.
select group_concat(scope, char(10)) as scopes
from (select b.scope from pillarbox_brake b order by b.scope);
