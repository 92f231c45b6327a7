-- Remembers a migration that was applied in this transaction.
--   :number, :name
--   :checksum   SHA-256 of the file, hex
-- Locks: the writer.
insert into pillarbox_schema_migration (number, name, checksum) values (:number, :name, :checksum);
