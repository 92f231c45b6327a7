-- Removes a batch of the inbox. Returns Removed.
-- @AgeMs BIGINT, @BatchSize INT
EXEC dbo.JobOutboxPurgeInbox @AgeMs = @AgeMs, @BatchSize = @BatchSize;
