-- Lifts a brake. Returns how many were lifted.
-- @Scope NVARCHAR(4000), @Who NVARCHAR(100)
EXEC dbo.JobOutboxBrakeLift @Scope = @Scope, @Who = @Who;
