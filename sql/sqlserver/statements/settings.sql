-- How long our statements wait for a lock.
-- @LockTimeoutMs INT
DECLARE @Text NVARCHAR(60) = CONCAT(N'SET LOCK_TIMEOUT ', @LockTimeoutMs);
EXEC (@Text);
