-- What operators do and look at, and what keeps the tables small.
--
-- Acts match the claim number that the operator saw: a row that has moved on since is left alone. Each writes one line of
-- audit. Whoever only looks does so under READ UNCOMMITTED: a list may show what is about to be rolled back, but it neither
-- waits for a relay nor makes one wait, and cannot deadlock with one between an index and its table.
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;   -- a procedure keeps these two as they are now
SET NOCOUNT, XACT_ABORT ON;
GO

-- ---- brake ----------------------------------------------------------------------------------------------------------

-- Sets a brake: waits for the claims that run now and lets none begin until it has committed. Every later claim sees it.
CREATE OR ALTER PROCEDURE dbo.JobOutboxBrakeSet
    @Scope NVARCHAR(4000),
    @Who   NVARCHAR(100),
    @Why   NVARCHAR(1000) = N''
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
IF @Scope IS NULL OR DATALENGTH(@Scope) > 420
   OR NOT (@Scope = N'all' OR (@Scope LIKE N'type:_%' AND @Scope NOT LIKE N'%*_%'))
    THROW 51000, N'pillarbox: Scope must be all, type:NAME or type:PREFIX*', 1;
BEGIN TRANSACTION;
EXEC dbo.JobOutboxLock @Resource = N'pbx:claims';
UPDATE b SET Reason = @Why, SetBy = @Who, SetUtc = SYSUTCDATETIME() FROM dbo.JobOutboxBrake AS b WHERE b.Scope = @Scope;
IF @@ROWCOUNT = 0
    INSERT INTO dbo.JobOutboxBrake (Scope, Reason, SetBy) VALUES (@Scope, @Why, @Who);
INSERT INTO dbo.JobOutboxAudit (Who, Action, What, Why) VALUES (@Who, N'pause', @Scope, @Why);
COMMIT TRANSACTION;
GO

-- Lifts a brake. Returns how many were lifted.
CREATE OR ALTER PROCEDURE dbo.JobOutboxBrakeLift
    @Scope NVARCHAR(4000),
    @Who   NVARCHAR(100)
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Lifted INT;
BEGIN TRANSACTION;
EXEC dbo.JobOutboxLock @Resource = N'pbx:claims';
DELETE b FROM dbo.JobOutboxBrake AS b WHERE b.Scope = @Scope;
SET @Lifted = @@ROWCOUNT;
IF @Lifted > 0
    INSERT INTO dbo.JobOutboxAudit (Who, Action, What) VALUES (@Who, N'resume', @Scope);
COMMIT TRANSACTION;
SELECT @Lifted AS Lifted;
GO

-- All brakes.
CREATE OR ALTER PROCEDURE dbo.JobOutboxBrakes
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT b.Scope, b.Reason, b.SetBy, b.SetUtc FROM dbo.JobOutboxBrake AS b ORDER BY b.Scope;
GO

-- How many messages of a brake's scope are under a live lease. Walks the two live indexes.
CREATE OR ALTER PROCEDURE dbo.JobOutboxClaimedInScope
    @Scope NVARCHAR(4000)
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DECLARE @Now DATETIME2(3) = SYSUTCDATETIME();
SELECT COUNT_BIG(*) AS Claimed
FROM (SELECT o.JobType
      FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Unprocessed))
      WHERE o.Status <= 1 AND o.OrderingKey IS NULL AND o.Status = 1 AND o.LockedUntil >= @Now
      UNION ALL
      SELECT o.JobType
      FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Keys))
      WHERE o.Status <= 1 AND o.OrderingKey IS NOT NULL AND o.Status = 1 AND o.LockedUntil >= @Now) AS c
WHERE @Scope = N'all'
   OR @Scope COLLATE Latin1_General_BIN2 = CONCAT(N'type:', c.JobType) COLLATE Latin1_General_BIN2
   OR (@Scope LIKE N'%*' AND LEFT(CONCAT(N'type:', c.JobType), LEN(@Scope) - 1) COLLATE Latin1_General_BIN2
                             = LEFT(@Scope, LEN(@Scope) - 1) COLLATE Latin1_General_BIN2);
GO

-- ---- acts on messages -----------------------------------------------------------------------------------------------

-- Dead messages begin a new life: pending, due now, no attempts. @Targets [{"id":1,"claim_no":2}, …]. Returns the Ids replayed.
CREATE OR ALTER PROCEDURE dbo.JobOutboxReplay
    @Targets NVARCHAR(MAX),
    @Who     NVARCHAR(100),
    @Why     NVARCHAR(1000) = N''
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Now DATETIME2(3);
DECLARE @Given TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL, PRIMARY KEY (Id, ClaimNo));
DECLARE @Done TABLE (Id BIGINT NOT NULL PRIMARY KEY, Life INT NOT NULL, ClaimNo BIGINT NOT NULL);
INSERT INTO @Given (Id, ClaimNo)
SELECT DISTINCT g.Id, g.ClaimNo FROM OPENJSON(@Targets) WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no') AS g;
BEGIN TRANSACTION;
-- The new head of a key must not come between a claim's look at the key and its commit.
EXEC dbo.JobOutboxLockKeys @Leases = @Targets;
SET @Now = SYSUTCDATETIME();
UPDATE o
SET Status = 0, Attempts = 0, Life = ISNULL(o.Life, 0) + 1, ClaimNo = ISNULL(o.ClaimNo, 0), AvailableUtc = @Now,
    ClaimedBy = NULL, LockedUntil = NULL, LastError = NULL,
    ExpiresUtc = CASE WHEN o.ExpiresUtc <= @Now THEN NULL ELSE o.ExpiresUtc END
OUTPUT inserted.Id, inserted.Life, inserted.ClaimNo INTO @Done (Id, Life, ClaimNo)
FROM @Given AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status = 3 AND ISNULL(o.ClaimNo, 0) = g.ClaimNo
OPTION (MAXDOP 1);
DELETE d
FROM @Done AS r
INNER LOOP JOIN dbo.JobOutboxDeadLetter AS d WITH (ROWLOCK, READCOMMITTEDLOCK) ON d.OutboxId = r.Id
WHERE d.DiscardedUtc IS NULL;
INSERT INTO dbo.JobOutboxAttempt (OutboxId, Life, Attempt, ClaimNo, ClaimedBy, Outcome, Code, Error)
SELECT r.Id, r.Life, 0, r.ClaimNo, @Who, N'replayed', N'', @Why FROM @Done AS r;
INSERT INTO dbo.JobOutboxAudit (Who, Action, What, Why)
SELECT @Who, N'replay', CONCAT(COUNT(*), N' messages'), @Why FROM @Done AS r HAVING COUNT(*) > 0;
COMMIT TRANSACTION;
SELECT r.Id FROM @Done AS r;
GO

-- Dead or pending messages leave, and a tombstone stays. Returns the Ids discarded.
CREATE OR ALTER PROCEDURE dbo.JobOutboxDiscard
    @Targets NVARCHAR(MAX),
    @Who     NVARCHAR(100),
    @Why     NVARCHAR(1000) = N''
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Now DATETIME2(3);
DECLARE @Given TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL, PRIMARY KEY (Id, ClaimNo));
DECLARE @Gone TABLE (Id BIGINT NOT NULL PRIMARY KEY, Life INT NOT NULL, MessageId UNIQUEIDENTIFIER NOT NULL,
                     JobType NVARCHAR(200) NOT NULL, OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NULL,
                     Attempts INT NOT NULL, Status TINYINT NOT NULL);
INSERT INTO @Given (Id, ClaimNo)
SELECT DISTINCT g.Id, g.ClaimNo FROM OPENJSON(@Targets) WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no') AS g;
BEGIN TRANSACTION;
EXEC dbo.JobOutboxLockKeys @Leases = @Targets;
SET @Now = SYSUTCDATETIME();
DELETE o
OUTPUT deleted.Id, ISNULL(deleted.Life, 0), deleted.MessageId, deleted.JobType, deleted.OrderingKey, deleted.Attempts, deleted.Status
    INTO @Gone (Id, Life, MessageId, JobType, OrderingKey, Attempts, Status)
FROM @Given AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status IN (0, 3) AND ISNULL(o.ClaimNo, 0) = g.ClaimNo
OPTION (MAXDOP 1);
UPDATE d
SET HoldsKey = 0, DiscardedUtc = @Now, DiscardedBy = @Who, DiscardReason = @Why
FROM @Gone AS r
INNER LOOP JOIN dbo.JobOutboxDeadLetter AS d WITH (ROWLOCK, READCOMMITTEDLOCK) ON d.OutboxId = r.Id
WHERE d.DiscardedUtc IS NULL;
INSERT INTO dbo.JobOutboxDeadLetter (OutboxId, Life, MessageId, JobType, OrderingKey, Reason, Code, Error, Attempts, DeadUtc,
                                     DiscardedUtc, DiscardedBy, DiscardReason)
SELECT r.Id, r.Life, r.MessageId, r.JobType, r.OrderingKey, N'permanent', N'discarded', N'discarded before it was delivered',
       r.Attempts, @Now, @Now, @Who, @Why
FROM @Gone AS r
WHERE NOT EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d WHERE d.OutboxId = r.Id AND d.Life = r.Life);
DELETE a
FROM @Gone AS r
INNER LOOP JOIN dbo.JobOutboxAttempt AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.OutboxId = r.Id;
INSERT INTO dbo.JobOutboxAudit (Who, Action, What, Why)
SELECT @Who, N'discard', CONCAT(COUNT(*), N' messages'), @Why FROM @Gone AS r HAVING COUNT(*) > 0;
COMMIT TRANSACTION;
SELECT r.Id FROM @Gone AS r;
GO

-- Takes leases from holders that are gone: pending, due now, the attempt stays counted. Returns the Ids released.
CREATE OR ALTER PROCEDURE dbo.JobOutboxRelease
    @Targets NVARCHAR(MAX),
    @Who     NVARCHAR(100),
    @Why     NVARCHAR(1000) = N''
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Given TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL, PRIMARY KEY (Id, ClaimNo));
DECLARE @Done TABLE (Id BIGINT NOT NULL PRIMARY KEY, Life INT NOT NULL, Attempts INT NOT NULL, ClaimNo BIGINT NOT NULL,
                     ClaimedBy NVARCHAR(100) NULL);
INSERT INTO @Given (Id, ClaimNo)
SELECT DISTINCT g.Id, g.ClaimNo FROM OPENJSON(@Targets) WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no') AS g;
BEGIN TRANSACTION;
EXEC dbo.JobOutboxLockKeys @Leases = @Targets;
UPDATE o
SET Status = 0, ClaimedBy = NULL, LockedUntil = NULL, AvailableUtc = SYSUTCDATETIME()
OUTPUT inserted.Id, ISNULL(inserted.Life, 0), inserted.Attempts, inserted.ClaimNo, deleted.ClaimedBy
    INTO @Done (Id, Life, Attempts, ClaimNo, ClaimedBy)
FROM @Given AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status = 1 AND ISNULL(o.ClaimNo, 0) = g.ClaimNo
OPTION (MAXDOP 1);
INSERT INTO dbo.JobOutboxAttempt (OutboxId, Life, Attempt, ClaimNo, ClaimedBy, Outcome, Code, Error)
SELECT r.Id, r.Life, r.Attempts, r.ClaimNo, r.ClaimedBy, N'released_by_operator', N'', CONCAT(@Who, N': ', @Why) FROM @Done AS r;
INSERT INTO dbo.JobOutboxAudit (Who, Action, What, Why)
SELECT @Who, N'release', CONCAT(COUNT(*), N' messages'), @Why FROM @Done AS r HAVING COUNT(*) > 0;
COMMIT TRANSACTION;
SELECT r.Id FROM @Done AS r;
GO

-- Asks a relay to drain and stop. Returns how many there are of that name.
CREATE OR ALTER PROCEDURE dbo.JobOutboxAskToDrain
    @ClaimedBy NVARCHAR(100)
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE r SET DrainAsked = 1 FROM dbo.JobOutboxRelay AS r WHERE r.ClaimedBy = @ClaimedBy;
SELECT @@ROWCOUNT AS Asked;
GO

-- ---- purge ----------------------------------------------------------------------------------------------------------

-- Four purges of one shape: at most 2000 rows, skipping what is locked; whoever meets one in a deadlock wins; a second
-- purger finds nothing to do. A statement takes two locks a row (table and unique index), under the 5000 at which
-- SQL Server would think of locking the table, which JobOutbox forbids besides.

-- Removes dispatched rows with their history. Walks the primary key from @AfterId, 20 times @BatchSize rows at the most.
-- Returns how many were removed and where to go on (null: the end was reached).
CREATE OR ALTER PROCEDURE dbo.JobOutboxPurgeDispatched
    @AgeMs     BIGINT,
    @BatchSize INT,
    @AfterId   BIGINT = 0
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
DECLARE @Got INT, @Before DATETIME2(3), @Looked BIGINT, @Last BIGINT, @Removed INT = 0;
DECLARE @Old TABLE (Id BIGINT NOT NULL PRIMARY KEY);
DECLARE @Gone TABLE (Id BIGINT NOT NULL PRIMARY KEY);
IF @BatchSize > 2000 SET @BatchSize = 2000;
SET @Before = DATEADD(MILLISECOND, -(@AgeMs % 86400000), DATEADD(DAY, -(@AgeMs / 86400000), SYSUTCDATETIME()));
BEGIN TRANSACTION;
EXEC @Got = sys.sp_getapplock @Resource = N'pbx:purge', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
IF @Got < 0
BEGIN
    COMMIT TRANSACTION;
    SELECT 0 AS Removed, @AfterId AS Next;
    RETURN;
END;
-- Looks without locks; what it finds is asked again when it is locked.
SELECT @Looked = COUNT_BIG(*), @Last = MAX(step.Id)
FROM (SELECT TOP (@BatchSize * 20) o.Id FROM dbo.JobOutbox AS o WITH (READUNCOMMITTED, INDEX (PK_JobOutbox), FORCESEEK)
      WHERE o.Id > @AfterId ORDER BY o.Id) AS step;
INSERT INTO @Old (Id)
SELECT TOP (@BatchSize) o.Id
FROM dbo.JobOutbox AS o WITH (READUNCOMMITTED, INDEX (PK_JobOutbox), FORCESEEK)
WHERE o.Id > @AfterId AND o.Id <= @Last AND o.Status = 2 AND o.DispatchedUtc < @Before
ORDER BY o.Id
OPTION (MAXDOP 1);
DELETE o
OUTPUT deleted.Id INTO @Gone (Id)
FROM @Old AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status = 2 AND o.DispatchedUtc < @Before
OPTION (MAXDOP 1);
SET @Removed = @@ROWCOUNT;
DELETE a
FROM @Gone AS r
INNER LOOP JOIN dbo.JobOutboxAttempt AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.OutboxId = r.Id;
COMMIT TRANSACTION;
SELECT @Removed AS Removed,
       CASE WHEN (SELECT COUNT(*) FROM @Old AS g) >= @BatchSize THEN (SELECT MAX(g.Id) FROM @Old AS g)
            WHEN @Looked < @BatchSize * 20 THEN NULL
            ELSE @Last END AS Next;
GO

-- Removes dead letters with their messages, but none that holds its key.
CREATE OR ALTER PROCEDURE dbo.JobOutboxPurgeDead
    @AgeMs     BIGINT,
    @BatchSize INT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
DECLARE @Got INT, @Before DATETIME2(3), @Removed INT = 0;
DECLARE @Old TABLE (Id BIGINT NOT NULL, Life INT NOT NULL, PRIMARY KEY (Id, Life));
IF @BatchSize > 2000 SET @BatchSize = 2000;
SET @Before = DATEADD(MILLISECOND, -(@AgeMs % 86400000), DATEADD(DAY, -(@AgeMs / 86400000), SYSUTCDATETIME()));
BEGIN TRANSACTION;
EXEC @Got = sys.sp_getapplock @Resource = N'pbx:purge', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
IF @Got >= 0
BEGIN
    DELETE d
    OUTPUT deleted.OutboxId, deleted.Life INTO @Old (Id, Life)
    FROM (SELECT TOP (@BatchSize) x.OutboxId, x.Life
          FROM dbo.JobOutboxDeadLetter AS x WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutboxDeadLetter))
          WHERE x.DiscardedUtc IS NULL AND x.HoldsKey = 0 AND x.DeadUtc < @Before
          ORDER BY x.OutboxId, x.Life) AS d;
    SET @Removed = @@ROWCOUNT;
    -- Waits for a row that is being replayed, and then leaves it alone: it is not dead any more.
    DELETE o
    FROM @Old AS g
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
    WHERE o.Status = 3
    OPTION (MAXDOP 1);
    DELETE a
    FROM @Old AS g
    INNER LOOP JOIN dbo.JobOutboxAttempt AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.OutboxId = g.Id
    WHERE NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) WHERE o.Id = g.Id);
END;
COMMIT TRANSACTION;
SELECT @Removed AS Removed;
GO

-- Removes tombstones.
CREATE OR ALTER PROCEDURE dbo.JobOutboxPurgeTombstones
    @AgeMs     BIGINT,
    @BatchSize INT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
DECLARE @Got INT, @Before DATETIME2(3), @Removed INT = 0;
IF @BatchSize > 2000 SET @BatchSize = 2000;
SET @Before = DATEADD(MILLISECOND, -(@AgeMs % 86400000), DATEADD(DAY, -(@AgeMs / 86400000), SYSUTCDATETIME()));
BEGIN TRANSACTION;
EXEC @Got = sys.sp_getapplock @Resource = N'pbx:purge', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
IF @Got >= 0
BEGIN
    DELETE TOP (@BatchSize) d
    FROM dbo.JobOutboxDeadLetter AS d WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE d.DiscardedUtc < @Before;
    SET @Removed = @@ROWCOUNT;
END;
COMMIT TRANSACTION;
SELECT @Removed AS Removed;
GO

-- Removes what consumers handled.
CREATE OR ALTER PROCEDURE dbo.JobOutboxPurgeInbox
    @AgeMs     BIGINT,
    @BatchSize INT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
DECLARE @Got INT, @Before DATETIME2(3), @Removed INT = 0;
IF @BatchSize > 2000 SET @BatchSize = 2000;
SET @Before = DATEADD(MILLISECOND, -(@AgeMs % 86400000), DATEADD(DAY, -(@AgeMs / 86400000), SYSUTCDATETIME()));
BEGIN TRANSACTION;
EXEC @Got = sys.sp_getapplock @Resource = N'pbx:purge', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
IF @Got >= 0
BEGIN
    DELETE TOP (@BatchSize) i
    FROM dbo.JobOutboxInbox AS i WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobOutboxInbox_Age))
    WHERE i.HandledUtc < @Before;
    SET @Removed = @@ROWCOUNT;
END;
COMMIT TRANSACTION;
SELECT @Removed AS Removed;
GO

-- ---- looking --------------------------------------------------------------------------------------------------------

-- The history of one message, every life, oldest first; at most 1000.
CREATE OR ALTER PROCEDURE dbo.JobOutboxAttempts
    @Id BIGINT
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT TOP (1000) a.Life, a.Attempt, a.ClaimNo, a.ClaimedBy, a.StartedUtc, a.EndedUtc, a.Outcome, a.Code, a.Error, a.TookMs
FROM dbo.JobOutboxAttempt AS a
WHERE a.OutboxId = @Id
ORDER BY a.ClaimNo, a.EndedUtc, a.Entry;
GO

-- One payload: bytes, or a text when Payload is null.
CREATE OR ALTER PROCEDURE dbo.JobOutboxPayload
    @Id BIGINT
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT CONVERT(DATETIME2(3), SYSUTCDATETIME()) AS NowUtc, o.PayloadJson, o.Payload FROM dbo.JobOutbox AS o WHERE o.Id = @Id;
GO

-- The row of a message.
CREATE OR ALTER PROCEDURE dbo.JobOutboxFind
    @MessageId UNIQUEIDENTIFIER
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT o.Id FROM dbo.JobOutbox AS o WHERE o.MessageId = @MessageId;
GO

-- Relays heard of in the last day, newest first.
CREATE OR ALTER PROCEDURE dbo.JobOutboxRelays
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT TOP (500) r.ClaimedBy, r.Version, r.Workers, r.LeasesHeld, r.StartedUtc, r.HeartbeatUtc, r.Draining
FROM dbo.JobOutboxRelay AS r
WHERE r.HeartbeatUtc > DATEADD(DAY, -1, SYSUTCDATETIME())
ORDER BY r.HeartbeatUtc DESC;
GO

-- The types of what waits, the most first, from at most 10 000 live rows.
CREATE OR ALTER PROCEDURE dbo.JobOutboxWaitingTypes
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT TOP (50) w.JobType, COUNT_BIG(*) AS Waiting
FROM (SELECT u.JobType
      FROM (SELECT TOP (5000) o.JobType FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Unprocessed))
            WHERE o.Status <= 1 AND o.OrderingKey IS NULL ORDER BY o.AvailableUtc, o.Id) AS u
      UNION ALL
      SELECT k.JobType
      FROM (SELECT TOP (5000) o.JobType FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Keys))
            WHERE o.Status <= 1 AND o.OrderingKey IS NOT NULL ORDER BY o.OrderingKey, o.Id) AS k) AS w
GROUP BY w.JobType
ORDER BY COUNT_BIG(*) DESC, w.JobType;
GO

-- The newest 10 000 dead letters, for grouping by cause.
CREATE OR ALTER PROCEDURE dbo.JobOutboxDeadGroups
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT TOP (10000) d.OutboxId, d.JobType, d.Reason, d.Error, d.DeadUtc
FROM dbo.JobOutboxDeadLetter AS d
WHERE d.DiscardedUtc IS NULL
ORDER BY d.OutboxId DESC;
GO

-- Dead letters, newest first. @Filter, a JSON object whose members are arrays, each optional: ids, message_ids, job_types and
-- not_job_types (exact, or with one * at the end), ordering_keys, reasons, not_reasons; and error_contains, a string.
-- Walks the primary key backwards, at most 10 000 rows.
CREATE OR ALTER PROCEDURE dbo.JobOutboxDeadLetters
    @BeforeId   BIGINT        = 9223372036854775807,
    @Limit      INT           = 50,
    @Filter     NVARCHAR(MAX) = N'{}',
    @Tombstones BIT           = 0
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DECLARE @Error NVARCHAR(4000) = JSON_VALUE(@Filter, N'$.error_contains');
DECLARE @Wanted TABLE (Name NVARCHAR(40) COLLATE Latin1_General_BIN2 NOT NULL, Value NVARCHAR(400) COLLATE Latin1_General_BIN2 NOT NULL);
INSERT INTO @Wanted (Name, Value)
SELECT LEFT(f.[key], 40), LEFT(v.[value], 400)
FROM OPENJSON(@Filter) AS f
CROSS APPLY OPENJSON(CASE WHEN f.[type] = 4 THEN f.[value] ELSE N'[]' END) AS v;
SELECT TOP (@Limit) d.OutboxId, d.Life, d.MessageId, d.JobType, d.OrderingKey, d.Reason, d.Code, d.Error, d.Attempts, d.DeadUtc,
       d.HoldsKey, d.DiscardedUtc, d.DiscardedBy, d.DiscardReason
FROM (SELECT TOP (10000) x.OutboxId, x.Life, x.MessageId, x.JobType, x.OrderingKey, x.Reason, x.Code, x.Error, x.Attempts,
             x.DeadUtc, x.HoldsKey, x.DiscardedUtc, x.DiscardedBy, x.DiscardReason
      FROM dbo.JobOutboxDeadLetter AS x
      WHERE x.OutboxId < @BeforeId AND (@Tombstones = 1 OR x.DiscardedUtc IS NULL)
        AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ids')
             OR x.OutboxId IN (SELECT TRY_CONVERT(BIGINT, w.Value) FROM @Wanted AS w WHERE w.Name = N'ids'))
      ORDER BY x.OutboxId DESC, x.Life DESC) AS d
WHERE (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'message_ids')
       OR d.MessageId IN (SELECT TRY_CONVERT(UNIQUEIDENTIFIER, w.Value) FROM @Wanted AS w WHERE w.Name = N'message_ids'))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'job_types')
       OR EXISTS (SELECT 1 FROM @Wanted AS w
                  WHERE w.Name = N'job_types'
                    AND (w.Value = d.JobType COLLATE Latin1_General_BIN2
                         OR (w.Value LIKE N'%*' AND LEFT(d.JobType, LEN(w.Value) - 1) COLLATE Latin1_General_BIN2
                                                    = LEFT(w.Value, LEN(w.Value) - 1)))))
  AND NOT EXISTS (SELECT 1 FROM @Wanted AS w
                  WHERE w.Name = N'not_job_types'
                    AND (w.Value = d.JobType COLLATE Latin1_General_BIN2
                         OR (w.Value LIKE N'%*' AND LEFT(d.JobType, LEN(w.Value) - 1) COLLATE Latin1_General_BIN2
                                                    = LEFT(w.Value, LEN(w.Value) - 1))))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ordering_keys')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ordering_keys' AND w.Value = d.OrderingKey))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'reasons')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'reasons' AND w.Value = d.Reason COLLATE Latin1_General_BIN2))
  AND NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'not_reasons' AND w.Value = d.Reason COLLATE Latin1_General_BIN2)
  AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, d.Error COLLATE Latin1_General_BIN2) > 0)
ORDER BY d.OutboxId DESC, d.Life DESC;
GO

-- Messages that meet every condition that is given, newest first, without payloads. Looks at @ScanMax rows at the most.
-- @Filter as of JobOutboxDeadLetters, and the arrays statuses (numbers), views and correlation_ids; the numbers attempts_min,
-- attempts_max, age_min_ms, age_max_ms; the times occurred_from and occurred_before (ISO 8601, UTC); and headers, an object of strings.
-- First answer: the rows. Second answer: how many rows were looked at.
CREATE OR ALTER PROCEDURE dbo.JobOutboxList
    @BeforeId BIGINT        = 9223372036854775807,
    @Limit    INT           = 50,
    @ScanMax  INT           = 10000,
    @Filter   NVARCHAR(MAX) = N'{}'
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DECLARE @Now DATETIME2(3) = SYSUTCDATETIME();
DECLARE @Error NVARCHAR(4000) = JSON_VALUE(@Filter, N'$.error_contains'),
        @AttemptsMin INT = TRY_CONVERT(INT, JSON_VALUE(@Filter, N'$.attempts_min')),
        @AttemptsMax INT = TRY_CONVERT(INT, JSON_VALUE(@Filter, N'$.attempts_max')),
        @AgeMinMs BIGINT = TRY_CONVERT(BIGINT, JSON_VALUE(@Filter, N'$.age_min_ms')),
        @AgeMaxMs BIGINT = TRY_CONVERT(BIGINT, JSON_VALUE(@Filter, N'$.age_max_ms')),
        @OccurredFrom DATETIME2(7) = TRY_CONVERT(DATETIME2(7), JSON_VALUE(@Filter, N'$.occurred_from'), 126),
        @OccurredBefore DATETIME2(7) = TRY_CONVERT(DATETIME2(7), JSON_VALUE(@Filter, N'$.occurred_before'), 126);
DECLARE @Wanted TABLE (Name NVARCHAR(40) COLLATE Latin1_General_BIN2 NOT NULL, Value NVARCHAR(400) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @Header TABLE (Name NVARCHAR(400) COLLATE Latin1_General_BIN2 NOT NULL, Value NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL);
DECLARE @Candidate TABLE (Id BIGINT NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON));
DECLARE @Named BIT = 0, @Live BIT = 0, @Dead BIT = 0;
INSERT INTO @Wanted (Name, Value)
SELECT LEFT(f.[key], 40), LEFT(v.[value], 400)
FROM OPENJSON(@Filter) AS f
CROSS APPLY OPENJSON(CASE WHEN f.[type] = 4 THEN f.[value] ELSE N'[]' END) AS v;
INSERT INTO @Header (Name, Value)
SELECT LEFT(h.[key], 400), h.[value] FROM OPENJSON(ISNULL(JSON_QUERY(@Filter, N'$.headers'), N'{}')) AS h;

IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name IN (N'ids', N'message_ids')) SET @Named = 1;
IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses')
   AND NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses' AND w.Value NOT IN (N'0', N'1')) SET @Live = 1;
IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses')
   AND NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses' AND w.Value <> N'3') SET @Dead = 1;

-- Ids come by key; live and dead rows from their own indexes; everything else walks the primary key backwards.
IF @Named = 1
BEGIN
    INSERT INTO @Candidate (Id)
    SELECT o.Id FROM dbo.JobOutbox AS o
    WHERE o.Id < @BeforeId AND o.Id IN (SELECT TRY_CONVERT(BIGINT, w.Value) FROM @Wanted AS w WHERE w.Name = N'ids');
    INSERT INTO @Candidate (Id)
    SELECT o.Id FROM dbo.JobOutbox AS o
    WHERE o.Id < @BeforeId
      AND o.MessageId IN (SELECT TRY_CONVERT(UNIQUEIDENTIFIER, w.Value) FROM @Wanted AS w WHERE w.Name = N'message_ids');
END
ELSE IF @Live = 1
BEGIN
    INSERT INTO @Candidate (Id)
    SELECT TOP (@ScanMax) o.Id FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Unprocessed))
    WHERE o.Status <= 1 AND o.OrderingKey IS NULL AND o.Id < @BeforeId
    ORDER BY o.AvailableUtc DESC, o.Id DESC;
    INSERT INTO @Candidate (Id)
    SELECT TOP (@ScanMax) o.Id FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Keys))
    WHERE o.Status <= 1 AND o.OrderingKey IS NOT NULL AND o.Id < @BeforeId
      AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ordering_keys')
           OR o.OrderingKey IN (SELECT w.Value FROM @Wanted AS w WHERE w.Name = N'ordering_keys'));
END
ELSE IF @Dead = 1
    INSERT INTO @Candidate (Id)
    SELECT TOP (@ScanMax) d.OutboxId FROM dbo.JobOutboxDeadLetter AS d
    WHERE d.DiscardedUtc IS NULL AND d.OutboxId < @BeforeId
    ORDER BY d.OutboxId DESC, d.Life DESC;
ELSE
    INSERT INTO @Candidate (Id)
    SELECT TOP (@ScanMax) o.Id FROM dbo.JobOutbox AS o WHERE o.Id < @BeforeId ORDER BY o.Id DESC;

SELECT TOP (@Limit) m.Id, m.MessageId, m.JobType, o.Status, shown.ViewName AS [View], m.ContentType, m.PayloadBytes, m.Headers,
       m.CorrelationId, m.OrderingKey, m.OccurredUtc, m.AvailableUtc, m.ExpiresUtc, m.ClaimedBy, m.LockedUntil, m.ClaimNo,
       m.Attempts, m.Life, m.DispatchedUtc, m.LastError
FROM @Candidate AS c
JOIN dbo.JobOutbox AS o ON o.Id = c.Id
JOIN dbo.JobOutboxMessages AS m ON m.Id = o.Id
CROSS APPLY (SELECT CASE
                 WHEN o.Status = 2 THEN N'dispatched'
                 WHEN o.Status = 3 THEN N'dead'
                 WHEN o.Status = 1 THEN N'claimed'
                 WHEN EXISTS (SELECT 1 FROM dbo.JobOutboxBrake AS b
                              WHERE b.Scope = N'all' OR b.Scope = CONCAT(N'type:', o.JobType) COLLATE Latin1_General_BIN2
                                 OR (b.Scope LIKE N'%*' AND LEFT(CONCAT(N'type:', o.JobType), LEN(b.Scope) - 1) COLLATE Latin1_General_BIN2
                                                            = LEFT(b.Scope, LEN(b.Scope) - 1))) THEN N'braked'
                 WHEN m.AvailableUtc > @Now AND o.Attempts > 0 THEN N'retrying'
                 WHEN m.AvailableUtc > @Now THEN N'delayed'
                 WHEN o.OrderingKey IS NOT NULL
                      AND (EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d
                                   WHERE d.HoldsKey = 1 AND d.OrderingKey = o.OrderingKey AND d.OutboxId < o.Id)
                           OR EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (INDEX (IX_JobOutbox_Keys), FORCESEEK)
                                      WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = o.OrderingKey
                                        AND p.Id < o.Id)) THEN N'held'
                 WHEN o.Attempts > 0 THEN N'retrying'
                 ELSE N'ready' END AS ViewName) AS shown
WHERE (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'statuses' AND TRY_CONVERT(INT, w.Value) = o.Status))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'views')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'views' AND w.Value = shown.ViewName COLLATE Latin1_General_BIN2))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ids')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ids' AND TRY_CONVERT(BIGINT, w.Value) = o.Id))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'message_ids')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'message_ids' AND TRY_CONVERT(UNIQUEIDENTIFIER, w.Value) = o.MessageId))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'job_types')
       OR EXISTS (SELECT 1 FROM @Wanted AS w
                  WHERE w.Name = N'job_types'
                    AND (w.Value = o.JobType COLLATE Latin1_General_BIN2
                         OR (w.Value LIKE N'%*' AND LEFT(o.JobType, LEN(w.Value) - 1) COLLATE Latin1_General_BIN2
                                                    = LEFT(w.Value, LEN(w.Value) - 1)))))
  AND NOT EXISTS (SELECT 1 FROM @Wanted AS w
                  WHERE w.Name = N'not_job_types'
                    AND (w.Value = o.JobType COLLATE Latin1_General_BIN2
                         OR (w.Value LIKE N'%*' AND LEFT(o.JobType, LEN(w.Value) - 1) COLLATE Latin1_General_BIN2
                                                    = LEFT(w.Value, LEN(w.Value) - 1))))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ordering_keys')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'ordering_keys' AND w.Value = o.OrderingKey))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'correlation_ids')
       OR EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'correlation_ids' AND w.Value = o.CorrelationId COLLATE Latin1_General_BIN2))
  AND (NOT EXISTS (SELECT 1 FROM @Wanted AS w WHERE w.Name = N'reasons')
       OR EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d JOIN @Wanted AS w ON w.Value = d.Reason COLLATE Latin1_General_BIN2
                  WHERE w.Name = N'reasons' AND d.OutboxId = o.Id AND d.Life = m.Life))
  AND NOT EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d JOIN @Wanted AS w ON w.Value = d.Reason COLLATE Latin1_General_BIN2
                  WHERE w.Name = N'not_reasons' AND d.OutboxId = o.Id AND d.Life = m.Life)
  AND (@AttemptsMin IS NULL OR o.Attempts >= @AttemptsMin)
  AND (@AttemptsMax IS NULL OR o.Attempts <= @AttemptsMax)
  AND (@OccurredFrom IS NULL OR o.OccurredUtc >= @OccurredFrom)
  AND (@OccurredBefore IS NULL OR o.OccurredUtc < @OccurredBefore)
  AND (@AgeMinMs IS NULL OR DATEDIFF_BIG(MILLISECOND, o.OccurredUtc, @Now) > @AgeMinMs)
  AND (@AgeMaxMs IS NULL OR DATEDIFF_BIG(MILLISECOND, o.OccurredUtc, @Now) < @AgeMaxMs)
  AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, o.LastError COLLATE Latin1_General_BIN2) > 0)
  AND NOT EXISTS (SELECT 1 FROM @Header AS h
                  WHERE NOT EXISTS (SELECT 1 FROM OPENJSON(ISNULL(o.Headers, N'{}')) AS j
                                    WHERE j.[key] COLLATE Latin1_General_BIN2 = h.Name
                                      AND j.[value] COLLATE Latin1_General_BIN2 = h.Value))
ORDER BY m.Id DESC;
SELECT COUNT(*) AS Scanned FROM @Candidate AS c;
GO

-- What waits, why, and how old it is. Each count stops at 10 001 rows.
CREATE OR ALTER PROCEDURE dbo.JobOutboxOverview
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DECLARE @Now DATETIME2(3) = SYSUTCDATETIME();
DECLARE @Waiting TABLE (Id BIGINT NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON), JobType NVARCHAR(200) NOT NULL,
                        OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NULL, Status TINYINT NOT NULL,
                        AvailableUtc DATETIME2(3) NULL, LockedUntil DATETIME2(3) NULL, Attempts INT NOT NULL,
                        ViewName NVARCHAR(20) NULL);
INSERT INTO @Waiting (Id, JobType, OrderingKey, Status, AvailableUtc, LockedUntil, Attempts)
SELECT TOP (10001) o.Id, o.JobType, o.OrderingKey, o.Status, o.AvailableUtc, o.LockedUntil, o.Attempts
FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Unprocessed))
WHERE o.Status <= 1 AND o.OrderingKey IS NULL
ORDER BY o.AvailableUtc, o.Id;
INSERT INTO @Waiting (Id, JobType, OrderingKey, Status, AvailableUtc, LockedUntil, Attempts)
SELECT TOP (10001) o.Id, o.JobType, o.OrderingKey, o.Status, o.AvailableUtc, o.LockedUntil, o.Attempts
FROM dbo.JobOutbox AS o WITH (INDEX (IX_JobOutbox_Keys))
WHERE o.Status <= 1 AND o.OrderingKey IS NOT NULL;
UPDATE w
SET ViewName = CASE
        WHEN w.Status = 1 AND w.LockedUntil >= @Now THEN N'claimed'
        WHEN EXISTS (SELECT 1 FROM dbo.JobOutboxBrake AS b
                     WHERE b.Scope = N'all' OR b.Scope = CONCAT(N'type:', w.JobType) COLLATE Latin1_General_BIN2
                        OR (b.Scope LIKE N'%*' AND LEFT(CONCAT(N'type:', w.JobType), LEN(b.Scope) - 1) COLLATE Latin1_General_BIN2
                                                   = LEFT(b.Scope, LEN(b.Scope) - 1))) THEN N'braked'
        WHEN w.AvailableUtc > @Now AND w.Attempts > 0 THEN N'retrying'
        WHEN w.AvailableUtc > @Now THEN N'delayed'
        WHEN w.OrderingKey IS NOT NULL
             AND (EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d
                          WHERE d.HoldsKey = 1 AND d.OrderingKey = w.OrderingKey AND d.OutboxId < w.Id)
                  OR EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (INDEX (IX_JobOutbox_Keys), FORCESEEK)
                             WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = w.OrderingKey
                               AND p.Id < w.Id)) THEN N'held'
        WHEN w.Attempts > 0 THEN N'retrying'
        ELSE N'ready' END
FROM @Waiting AS w;
SELECT @Now AS NowUtc,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'ready') AS Ready,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'delayed') AS Delayed,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'retrying') AS Retrying,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'held') AS Held,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'braked') AS Braked,
       (SELECT COUNT(*) FROM @Waiting AS w WHERE w.ViewName = N'claimed') AS Claimed,
       (SELECT COUNT(*) FROM (SELECT TOP (10001) d.OutboxId FROM dbo.JobOutboxDeadLetter AS d WHERE d.DiscardedUtc IS NULL) AS x) AS Dead,
       (SELECT COUNT(*) FROM (SELECT TOP (10001) d.OutboxId FROM dbo.JobOutboxDeadLetter AS d
                              WHERE d.DiscardedUtc IS NULL AND d.DeadUtc > DATEADD(DAY, -1, @Now)) AS x) AS DeadLastDay,
       (SELECT MIN(w.AvailableUtc) FROM @Waiting AS w
        WHERE w.ViewName IN (N'ready', N'retrying') AND w.AvailableUtc <= @Now) AS OldestReadyUtc,
       (SELECT MAX(newest.DispatchedUtc)
        FROM (SELECT TOP (1000) o.DispatchedUtc FROM dbo.JobOutbox AS o ORDER BY o.Id DESC) AS newest) AS LastDispatchedUtc,
       (SELECT COUNT(*)
        FROM (SELECT TOP (10001) o.DispatchedUtc FROM dbo.JobOutbox AS o ORDER BY o.Id DESC) AS newest
        WHERE newest.DispatchedUtc > DATEADD(MINUTE, -1, @Now)) AS DispatchedLastMinute;
GO

-- What a check of the server wants to know. Null: the caller may not see it.
CREATE OR ALTER PROCEDURE dbo.JobOutboxExamine
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT CONVERT(NVARCHAR(128), SERVERPROPERTY(N'ProductVersion')) AS Version,
       CONVERT(NVARCHAR(128), SERVERPROPERTY(N'Edition')) AS Edition,
       CONVERT(INT, d.compatibility_level) AS CompatibilityLevel,
       d.is_read_committed_snapshot_on AS ReadCommittedSnapshot,
       CONVERT(INT, d.snapshot_isolation_state) AS SnapshotIsolation,
       CONVERT(NVARCHAR(20), DATABASEPROPERTYEX(DB_NAME(), N'Updateability')) AS Updateability,
       CONVERT(INT, d.delayed_durability) AS DelayedDurability,
       CONVERT(DATETIME2(3), SYSUTCDATETIME()) AS NowUtc,
       (SELECT SUM(p.[rows]) FROM sys.partitions AS p WHERE p.object_id = OBJECT_ID(N'dbo.JobOutbox') AND p.index_id = 1) AS TotalRows,
       (SELECT SUM(p.[rows]) FROM sys.partitions AS p
        JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
        WHERE p.object_id = OBJECT_ID(N'dbo.JobOutbox') AND i.name IN (N'IX_JobOutbox_Unprocessed', N'IX_JobOutbox_Keys')) AS LiveRows,
       (SELECT CONVERT(INT, t.lock_escalation) FROM sys.tables AS t WHERE t.object_id = OBJECT_ID(N'dbo.JobOutbox')) AS LockEscalation,
       HAS_PERMS_BY_NAME(N'dbo.JobOutboxClaimBatch', N'OBJECT', N'EXECUTE') AS MayRelay,
       HAS_PERMS_BY_NAME(N'dbo.JobOutboxEnqueue', N'OBJECT', N'EXECUTE') AS MayEnqueue
FROM sys.databases AS d
WHERE d.database_id = DB_ID();
GO
