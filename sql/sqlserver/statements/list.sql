-- Messages that meet every condition that is given, newest first. The filter is described at JobOutboxList.
-- @BeforeId BIGINT, @Limit INT, @ScanMax INT, @Filter NVARCHAR(MAX)
EXEC dbo.JobOutboxList @BeforeId = @BeforeId, @Limit = @Limit, @ScanMax = @ScanMax, @Filter = @Filter;
