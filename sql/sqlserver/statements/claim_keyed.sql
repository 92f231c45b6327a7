-- Claims due messages that have an ordering key: of each key only its head. Jumps in index IX_JobOutbox_Keys from key to key.
-- @ClaimedBy NVARCHAR(100), @LeaseMs INT, @BatchSize INT, @BytesMax BIGINT, @KeyAfter NVARCHAR(200)
-- @ExcludedTypes NVARCHAR(MAX), @KeysMax INT
EXEC dbo.JobOutboxClaimBatch @ClaimedBy = @ClaimedBy, @LeaseMs = @LeaseMs, @BatchSize = @BatchSize, @BytesMax = @BytesMax,
     @Part = 2, @KeyAfter = @KeyAfter, @ExcludedTypes = @ExcludedTypes, @KeysMax = @KeysMax;
