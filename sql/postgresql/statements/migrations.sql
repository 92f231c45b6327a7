-- What was applied.
select number, name, checksum from pillarbox.schema_migration order by number;
