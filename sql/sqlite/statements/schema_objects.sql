-- Everything of ours that the database holds, with the text that made it.
-- Locks: nothing.
select type || ' ' || name as object, sql
from sqlite_schema
where name glob 'pillarbox_*' and sql is not null
order by object;
