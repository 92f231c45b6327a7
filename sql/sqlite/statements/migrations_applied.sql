-- Which migrations were applied, in order.
-- Index: the primary key. Locks: nothing.
select number, name, checksum from pillarbox_schema_migration order by number;
