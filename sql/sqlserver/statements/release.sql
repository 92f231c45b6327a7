-- An operator takes leases from holders that are gone. Returns the Ids released. @Targets [{"id":1,"claim_no":2}, …]
-- @Targets NVARCHAR(MAX), @Who NVARCHAR(100), @Why NVARCHAR(1000)
EXEC dbo.JobOutboxRelease @Targets = @Targets, @Who = @Who, @Why = @Why;
