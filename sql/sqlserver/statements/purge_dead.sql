-- Removes a batch of dead letters with their messages, but none that holds its key. Returns Removed.
-- @AgeMs BIGINT, @BatchSize INT
EXEC dbo.JobOutboxPurgeDead @AgeMs = @AgeMs, @BatchSize = @BatchSize;
