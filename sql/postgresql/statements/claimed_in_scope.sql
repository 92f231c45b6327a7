-- How many messages of a brake's scope are under a live lease. $1 scope. Walks the live indexes.
select count(*) as claimed
from pillarbox.outbox as o
where o.live and o.status = 1 and o.locked_until >= now()
  and ($1 = 'all' or $1 = 'type:' || o.job_type
       or ($1 like '%*' and starts_with('type:' || o.job_type, left($1, -1))));
