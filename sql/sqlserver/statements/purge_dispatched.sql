-- Removes a batch of dispatched rows. Returns Removed, and Next: where to go on (null: the end was reached).
-- @AgeMs BIGINT, @BatchSize INT, @AfterId BIGINT
EXEC dbo.JobOutboxPurgeDispatched @AgeMs = @AgeMs, @BatchSize = @BatchSize, @AfterId = @AfterId;
