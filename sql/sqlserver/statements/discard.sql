-- Dead or pending messages leave, and a tombstone stays. Returns the Ids discarded. @Targets [{"id":1,"claim_no":2}, …]
-- @Targets NVARCHAR(MAX), @Who NVARCHAR(100), @Why NVARCHAR(1000)
EXEC dbo.JobOutboxDiscard @Targets = @Targets, @Who = @Who, @Why = @Why;
