-- What was applied.
SELECT m.Number, m.Name, m.Checksum FROM dbo.JobOutboxSchemaMigration AS m ORDER BY m.Number;
