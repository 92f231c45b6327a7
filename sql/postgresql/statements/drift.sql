-- The columns and indexes that there are, to be compared with what the migrations make.
select 'column ' || table_name || '.' || column_name || ' ' || data_type as item
from information_schema.columns where table_schema || '.' = 'pillarbox.'
union all
select 'index ' || indexname from pg_catalog.pg_indexes where schemaname || '.' = 'pillarbox.'
order by 1;
