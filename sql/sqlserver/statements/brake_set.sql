-- Sets a brake: waits for the claims that run now, and every later claim sees it.
-- @Scope NVARCHAR(4000), @Who NVARCHAR(100), @Why NVARCHAR(1000)
EXEC dbo.JobOutboxBrakeSet @Scope = @Scope, @Who = @Who, @Why = @Why;
