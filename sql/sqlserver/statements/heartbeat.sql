-- This relay lives. Returns whether it was asked to drain.
-- @ClaimedBy NVARCHAR(100), @Version NVARCHAR(50), @Workers INT, @LeasesHeld BIGINT, @Draining BIT
EXEC dbo.JobOutboxHeartbeat @ClaimedBy = @ClaimedBy, @Version = @Version, @Workers = @Workers, @LeasesHeld = @LeasesHeld,
     @Draining = @Draining;
