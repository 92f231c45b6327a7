-- Claims due messages that have no ordering key, oldest first. Walks index IX_JobOutbox_Unprocessed from @AvailableAfter on.
-- @ClaimedBy NVARCHAR(100), @LeaseMs INT, @BatchSize INT, @BytesMax BIGINT, @AvailableAfter DATETIME2(3)
-- @ExcludedTypes NVARCHAR(MAX)
EXEC dbo.JobOutboxClaimBatch @ClaimedBy = @ClaimedBy, @LeaseMs = @LeaseMs, @BatchSize = @BatchSize, @BytesMax = @BytesMax,
     @Part = 1, @AvailableAfter = @AvailableAfter, @ExcludedTypes = @ExcludedTypes;
