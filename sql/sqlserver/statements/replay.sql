-- Dead messages begin a new life. Returns the Ids replayed. @Targets [{"id":1,"claim_no":2}, …]
-- @Targets NVARCHAR(MAX), @Who NVARCHAR(100), @Why NVARCHAR(1000)
EXEC dbo.JobOutboxReplay @Targets = @Targets, @Who = @Who, @Why = @Why;
