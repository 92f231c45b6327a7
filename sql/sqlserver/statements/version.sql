-- The newest applied migration.
SELECT ISNULL(MAX(m.Number), 0) AS Version FROM dbo.JobOutboxSchemaMigration AS m;
