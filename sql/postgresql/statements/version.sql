-- The newest applied migration.
select coalesce(max(number), 0)::int as version from pillarbox.schema_migration;
