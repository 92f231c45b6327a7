-- Dead letters, newest first. The filter is described at JobOutboxDeadLetters.
-- @BeforeId BIGINT, @Limit INT, @Filter NVARCHAR(MAX), @Tombstones BIT
EXEC dbo.JobOutboxDeadLetters @BeforeId = @BeforeId, @Limit = @Limit, @Filter = @Filter, @Tombstones = @Tombstones;
