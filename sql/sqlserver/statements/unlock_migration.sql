-- Ends lock_migration.sql.
EXEC sys.sp_releaseapplock @Resource = N'pbx:migration', @LockOwner = 'Session';
