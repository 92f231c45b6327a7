-- How many messages of a brake's scope are under live leases.
--   :scope, :now
-- Index: pillarbox_outbox_claimed. Locks: nothing.
select count(*)
from pillarbox_outbox o indexed by pillarbox_outbox_claimed
where o.status = 1
  and o.locked_until > :now
  and (:scope = 'all' or :scope = 'type:' || o.job_type
       or (substr(:scope, -1) = '*'
           and 'type:' || substr(o.job_type, 1, length(:scope) - 6) = rtrim(:scope, '*')));
