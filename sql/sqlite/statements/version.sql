-- The newest applied migration.
select coalesce(max(number), 0) as version from pillarbox_schema_migration;
