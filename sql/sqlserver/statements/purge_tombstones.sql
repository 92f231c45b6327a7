-- Removes a batch of tombstones. Returns Removed.
-- @AgeMs BIGINT, @BatchSize INT
EXEC dbo.JobOutboxPurgeTombstones @AgeMs = @AgeMs, @BatchSize = @BatchSize;
