-- One migration at a time, for as long as the session lives: each batch of a migration is a transaction of its own.
-- @LockTimeoutMs INT
DECLARE @Got INT;
EXEC @Got = sys.sp_getapplock @Resource = N'pbx:migration', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = @LockTimeoutMs;
IF @Got < 0 THROW 51002, N'pillarbox: another migration runs', 1;
