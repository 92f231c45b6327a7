-- Records a migration, also when it was recorded before.
-- @Number INT, @Name NVARCHAR(100), @Checksum CHAR(64)
INSERT INTO dbo.JobOutboxSchemaMigration (Number, Name, Checksum)
SELECT @Number, @Name, @Checksum
WHERE NOT EXISTS (SELECT 1 FROM dbo.JobOutboxSchemaMigration AS m WHERE m.Number = @Number);
