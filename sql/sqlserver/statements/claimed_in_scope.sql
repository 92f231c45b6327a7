-- How many messages of a brake's scope are under a live lease.
-- @Scope NVARCHAR(4000)
EXEC dbo.JobOutboxClaimedInScope @Scope = @Scope;
