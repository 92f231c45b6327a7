-- Whether there is an outbox at all, or the caller may see it.
SELECT CONVERT(BIT, CASE WHEN OBJECT_ID(N'dbo.JobOutboxSchemaMigration', N'U') IS NULL THEN 0 ELSE 1 END) AS There;
