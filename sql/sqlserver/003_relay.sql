-- The relay's interface: claim, renew, settle, heartbeat. A relay needs EXECUTE on these and nothing else.
--
-- Application locks, all in the current database and owned by a transaction:
--   pbx:claims   shared by every claim, exclusive for whoever sets or lifts a brake
--   pbx:o:KEY    whoever changes what is live of an ordering key: claims (which do not wait for it), settles, operators
--   pbx:k:KEY    producers of a key, until they commit (002_producers.sql). Nobody here takes it.
-- Order, so that nobody waits in a circle: pbx:claims, then keys in ascending order, then rows. A claim waits for pbx:claims
-- alone; it passes over keys and rows that others hold.
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;   -- a procedure keeps these two as they are now
SET NOCOUNT, XACT_ABORT ON;
GO

-- Raises 51001 when the caller is inside a transaction that must not be there.
--   @Any 1: any transaction. 0: one under SNAPSHOT, in which READPAST is error 650.
-- To be called before the caller states its own isolation level: this looks at the one it came with.
CREATE OR ALTER PROCEDURE dbo.JobOutboxRefuseTransaction
    @Any BIT
AS
SET NOCOUNT, XACT_ABORT ON;
-- pbx: keeps the isolation level of its caller, which is what it looks at
IF @@TRANCOUNT > 0
BEGIN
    IF @Any = 1
        THROW 51001, N'pillarbox: call this outside of a transaction: it begins its own and commits it', 1;
    IF EXISTS (SELECT 1 FROM sys.dm_exec_sessions AS s WHERE s.session_id = @@SPID AND s.transaction_isolation_level = 5)
        THROW 51001, N'pillarbox: the transaction runs under SNAPSHOT; begin it under READ COMMITTED', 1;
END;
GO

-- Takes the locks of the ordering keys that these messages have, in ascending order. @LateBefore: only of those whose lease
-- ends before that. The key of a message never changes, so that it may be read without a lock.
CREATE OR ALTER PROCEDURE dbo.JobOutboxLockKeys
    @Leases     NVARCHAR(MAX),
    @LateBefore DATETIME2(3) = NULL
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Keys TABLE (Nth INT NOT NULL IDENTITY (1, 1) PRIMARY KEY, OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @Nth INT, @Resource NVARCHAR(255);
INSERT INTO @Keys (OrderingKey)
SELECT RTRIM(o.OrderingKey)
FROM OPENJSON(@Leases) WITH (Id BIGINT '$.id') AS g
JOIN dbo.JobOutbox AS o WITH (READUNCOMMITTED, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.OrderingKey IS NOT NULL AND (@LateBefore IS NULL OR o.LockedUntil < @LateBefore)
GROUP BY RTRIM(o.OrderingKey)
ORDER BY RTRIM(o.OrderingKey);
SELECT @Nth = MIN(k.Nth) FROM @Keys AS k;
WHILE @Nth IS NOT NULL
BEGIN
    SELECT @Resource = CONCAT(N'pbx:o:', k.OrderingKey) FROM @Keys AS k WHERE k.Nth = @Nth;
    EXEC dbo.JobOutboxLock @Resource = @Resource;
    SELECT @Nth = MIN(k.Nth) FROM @Keys AS k WHERE k.Nth > @Nth;
END;
GO

-- Claims due messages: those without a key oldest first, and of each key its head alone. Skips what others hold.
--
-- @Part 0 both, 1 those without a key, 2 those with one.  @BytesMax payload bytes at the most, but one message always.
-- @AvailableAfter only rows available after it (a low-water mark; null: all).  @KeyAfter go on after this key.
-- @KeysMax look at so many keys at the most.  @ExcludedTypes a JSON array of job types to leave alone.
--
-- First answer: the messages, in no promised order; Payload, when not null, is the payload, else PayloadJson is. Second
-- answer: one row, how far it came: Seen, Visited (keys), LastKey, More.
CREATE OR ALTER PROCEDURE dbo.JobOutboxClaimBatch
    @ClaimedBy      NVARCHAR(100),
    @BatchSize      INT,
    @LeaseSeconds   INT           = 60,
    @LeaseMs        INT           = NULL,
    @BytesMax       BIGINT        = 8388608,
    @Part           TINYINT       = 0,
    @AvailableAfter DATETIME2(3)  = NULL,
    @KeyAfter       NVARCHAR(200) = N'',
    @KeysMax        INT           = 200,
    @ExcludedTypes  NVARCHAR(MAX) = NULL
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Barred TABLE (Stem NVARCHAR(210) COLLATE Latin1_General_BIN2 NOT NULL, Chars INT NOT NULL, IsPrefix BIT NOT NULL);
DECLARE @Candidate TABLE (Nth INT NOT NULL IDENTITY (1, 1) PRIMARY KEY, Id BIGINT NOT NULL);
DECLARE @Due TABLE (Nth INT NOT NULL IDENTITY (1, 1) PRIMARY KEY, Id BIGINT NOT NULL UNIQUE, WasStatus TINYINT NOT NULL,
                    Life INT NOT NULL, Attempts INT NOT NULL, ClaimNo BIGINT NOT NULL, ClaimedBy NVARCHAR(100) NULL,
                    Bytes BIGINT NOT NULL, Taken BIT NOT NULL DEFAULT (0));
DECLARE @Now DATETIME2(3), @AllBraked BIT = 0, @IsBarred BIT, @More BIT = 0, @Visited INT = 0, @Count INT = 0, @Got INT,
        @Key NVARCHAR(200) = @KeyAfter, @Head BIGINT, @Status TINYINT, @LockedUntil DATETIME2(3), @AvailableUtc DATETIME2(3),
        @JobType NVARCHAR(200), @Resource NVARCHAR(255);
IF @ClaimedBy IS NULL OR @BatchSize IS NULL OR @BatchSize NOT BETWEEN 1 AND 1000
    THROW 51000, N'pillarbox: ClaimedBy must be given and BatchSize must be from 1 to 1000', 1;
SET @LeaseMs = ISNULL(@LeaseMs, @LeaseSeconds * 1000);

BEGIN TRANSACTION;
EXEC dbo.JobOutboxLock @Resource = N'pbx:claims', @Mode = 'Shared';
-- From here on no brake is being set. One that somebody is writing by hand counts already.
INSERT INTO @Barred (Stem, Chars, IsPrefix)
SELECT CASE WHEN b.Scope LIKE N'%*' THEN SUBSTRING(b.Scope, 6, LEN(b.Scope) - 6) ELSE SUBSTRING(b.Scope, 6, 205) END,
       CASE WHEN b.Scope LIKE N'%*' THEN LEN(b.Scope) - 6 ELSE 0 END,
       CASE WHEN b.Scope LIKE N'%*' THEN 1 ELSE 0 END
FROM dbo.JobOutboxBrake AS b WITH (READUNCOMMITTED)
WHERE b.Scope <> N'all'
UNION
SELECT LEFT(x.[value], 200) COLLATE Latin1_General_BIN2, 0, 0 FROM OPENJSON(ISNULL(@ExcludedTypes, N'[]')) AS x;
IF EXISTS (SELECT 1 FROM dbo.JobOutboxBrake AS b WITH (READUNCOMMITTED) WHERE b.Scope = N'all') SET @AllBraked = 1;
SET @Now = SYSUTCDATETIME();

IF @AllBraked = 0 AND @Part IN (0, 1) AND NOT EXISTS (SELECT 1 FROM @Barred)
BEGIN
    -- One pass in the index's own order, locking what it takes and stepping over what others hold.
    INSERT INTO @Candidate (Id)
    SELECT TOP (@BatchSize) o.Id
    FROM dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (IX_JobOutbox_Unprocessed))
    WHERE o.Status <= 1 AND o.OrderingKey IS NULL
      AND o.AvailableUtc > ISNULL(@AvailableAfter, '0001-01-01') AND o.AvailableUtc <= @Now
      AND (o.Status = 0 OR o.LockedUntil < @Now)
    ORDER BY o.AvailableUtc, o.Id
    OPTION (MAXDOP 1);
    SET @Count = @@ROWCOUNT;
    IF @Count = @BatchSize SET @More = 1;
END
ELSE IF @AllBraked = 0 AND @Part IN (0, 1)
BEGIN
    -- Differs because a long backlog of barred types may lie before what is due: an update lock on each of its rows would
    -- be kept until we commit. So this pass keeps none, looks further than it takes, and the rows are locked below.
    INSERT INTO @Candidate (Id)
    SELECT TOP (@BatchSize * 4) o.Id
    FROM dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobOutbox_Unprocessed))
    WHERE o.Status <= 1 AND o.OrderingKey IS NULL
      AND o.AvailableUtc > ISNULL(@AvailableAfter, '0001-01-01') AND o.AvailableUtc <= @Now
      AND (o.Status = 0 OR o.LockedUntil < @Now)
      AND NOT EXISTS (SELECT 1 FROM @Barred AS b
                      WHERE (b.IsPrefix = 0 AND b.Stem = o.JobType COLLATE Latin1_General_BIN2)
                         OR (b.IsPrefix = 1 AND b.Stem = LEFT(o.JobType, b.Chars) COLLATE Latin1_General_BIN2))
    ORDER BY o.AvailableUtc, o.Id
    OPTION (MAXDOP 1);
    SET @Count = @@ROWCOUNT;
    IF @Count >= @BatchSize SET @More = 1;
END;

-- Now the rows themselves. One that its late owner settles at this moment is locked: it is passed over, not waited for.
INSERT INTO @Due (Id, WasStatus, Life, Attempts, ClaimNo, ClaimedBy, Bytes)
SELECT TOP (@BatchSize) o.Id, o.Status, ISNULL(o.Life, 0), o.Attempts, ISNULL(o.ClaimNo, 0), o.ClaimedBy,
       ISNULL(DATALENGTH(o.Payload), DATALENGTH(o.PayloadJson))
FROM @Candidate AS c
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = c.Id
WHERE o.Status <= 1 AND o.OrderingKey IS NULL AND o.AvailableUtc <= @Now
  AND (o.Status = 0 OR o.LockedUntil < @Now)
  AND ISNULL(o.ClaimNo, 0) < 4611686018427387904
ORDER BY c.Nth
OPTION (MAXDOP 1);
SET @Count = @@ROWCOUNT;

-- From key to key: one seek finds the next key and its head. The cost is per key, however many wait behind the head.
WHILE @AllBraked = 0 AND @Part IN (0, 2) AND @Count < @BatchSize
BEGIN
    IF @Visited >= @KeysMax
    BEGIN
        SET @More = 1;
        BREAK;
    END;
    SET @Head = NULL;
    -- Without locks, and without stepping over any: a head that is being renewed or settled must be seen.
    SELECT TOP (1) @Key = o.OrderingKey, @Head = o.Id, @Status = o.Status, @LockedUntil = o.LockedUntil,
           @AvailableUtc = o.AvailableUtc, @JobType = o.JobType
    FROM dbo.JobOutbox AS o WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)
    WHERE o.Status <= 1 AND o.OrderingKey IS NOT NULL AND o.OrderingKey > @Key
    ORDER BY o.OrderingKey, o.Id
    OPTION (MAXDOP 1);
    IF @Head IS NULL BREAK;
    SET @Visited += 1;
    SET @IsBarred = 0;
    SELECT TOP (1) @IsBarred = 1
    FROM @Barred AS b
    WHERE (b.IsPrefix = 0 AND b.Stem = @JobType COLLATE Latin1_General_BIN2)
       OR (b.IsPrefix = 1 AND b.Stem = LEFT(@JobType, b.Chars) COLLATE Latin1_General_BIN2);
    IF @IsBarred = 1 OR @AvailableUtc > @Now OR (@Status = 1 AND @LockedUntil >= @Now) CONTINUE;
    SET @Resource = CONCAT(N'pbx:o:', RTRIM(@Key));
    EXEC @Got = sys.sp_getapplock @Resource = @Resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
    IF @Got < 0 CONTINUE;
    -- The key is ours: nobody ends, retries, replays or claims a message of it until we commit. Look again, and lock.
    INSERT INTO @Due (Id, WasStatus, Life, Attempts, ClaimNo, ClaimedBy, Bytes)
    SELECT o.Id, o.Status, ISNULL(o.Life, 0), o.Attempts, ISNULL(o.ClaimNo, 0), o.ClaimedBy,
           ISNULL(DATALENGTH(o.Payload), DATALENGTH(o.PayloadJson))
    FROM dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK)
    WHERE o.Id = @Head AND o.OrderingKey = @Key AND o.Status <= 1 AND o.AvailableUtc <= @Now
      AND (o.Status = 0 OR o.LockedUntil < @Now)
      AND ISNULL(o.ClaimNo, 0) < 4611686018427387904
      AND NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)
                      WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = @Key AND p.Id < @Head)
      AND NOT EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d WITH (READUNCOMMITTED, INDEX (IX_JobOutboxDeadLetter_Holding))
                      WHERE d.HoldsKey = 1 AND d.OrderingKey = @Key AND d.OutboxId < @Head)
      -- Only a replay can put a head before a message that is under way.
      AND (ISNULL(o.Life, 0) = 0
           OR NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)
                          WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = @Key AND p.Id > @Head
                            AND p.Status = 1 AND p.LockedUntil >= @Now))
    OPTION (MAXDOP 1);
    SET @Count += @@ROWCOUNT;
END;
IF @Count >= @BatchSize SET @More = 1;

WITH summed AS
(
    SELECT d.Nth, d.Taken, SUM(d.Bytes) OVER (ORDER BY d.Nth ROWS UNBOUNDED PRECEDING) AS SoFar FROM @Due AS d
)
UPDATE summed SET Taken = 1 WHERE Nth = 1 OR SoFar <= @BytesMax;
IF EXISTS (SELECT 1 FROM @Due AS d WHERE d.Taken = 0) SET @More = 1;

INSERT INTO dbo.JobOutboxAttempt (OutboxId, Life, Attempt, ClaimNo, ClaimedBy, Outcome, Code, Error)
SELECT d.Id, d.Life, d.Attempts, d.ClaimNo, d.ClaimedBy, N'lease_lost', N'lease_lost',
       N'the lease ran out before the relay said what became of it'
FROM @Due AS d
WHERE d.Taken = 1 AND d.WasStatus = 1;

UPDATE o
SET Status = 1, ClaimedBy = @ClaimedBy, LockedUntil = DATEADD(MILLISECOND, @LeaseMs, @Now), ClaimNo = d.ClaimNo + 1,
    Attempts = CASE WHEN o.Attempts < 2147483647 THEN o.Attempts + 1 ELSE o.Attempts END
FROM @Due AS d
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK)
    ON o.Id = d.Id AND ISNULL(o.ClaimNo, 0) = d.ClaimNo
WHERE d.Taken = 1
OPTION (MAXDOP 1);
COMMIT TRANSACTION;

-- Sent after the commit: a slow client holds no lock. What is ours stays as it is while its lease lasts.
SELECT o.Id, o.MessageId, o.JobType, o.Attempts, o.CorrelationId, o.OccurredUtc, o.ClaimNo, o.OrderingKey, o.AvailableUtc,
       ISNULL(o.ContentType, N'application/json') AS ContentType, ISNULL(o.Life, 0) AS Life,
       CONVERT(BIT, CASE WHEN o.ExpiresUtc <= @Now THEN 1 ELSE 0 END) AS Expired,
       CONVERT(BIT, CASE WHEN d.WasStatus = 1 THEN 1 ELSE 0 END) AS Reclaimed, o.Headers, o.PayloadJson, o.Payload
FROM @Due AS d
INNER LOOP JOIN dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK)
    ON o.Id = d.Id AND o.ClaimNo = d.ClaimNo + 1 AND o.ClaimedBy = @ClaimedBy
WHERE d.Taken = 1
OPTION (MAXDOP 1);
SELECT @Count AS Seen, @Visited AS Visited, @Key AS LastKey, @More AS More;
GO

-- Lengthens leases that are still the caller's; returns those. @Leases [{"id":1,"claim_no":2}, …]
-- One that ran out is still its owner's while nobody took the message and nothing else of its key runs. Beside it may run,
-- after a replay: an earlier message, also one that this call takes up again; or a later one.
CREATE OR ALTER PROCEDURE dbo.JobOutboxRenew
    @ClaimedBy NVARCHAR(100),
    @Leases    NVARCHAR(MAX),
    @LeaseMs   INT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Now DATETIME2(3), @Late DATETIME2(3) = DATEADD(SECOND, 5, SYSUTCDATETIME());
DECLARE @Given TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL, PRIMARY KEY (Id, ClaimNo));
DECLARE @Ours TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL);
INSERT INTO @Given (Id, ClaimNo)
SELECT DISTINCT g.Id, g.ClaimNo FROM OPENJSON(@Leases) WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no') AS g;

BEGIN TRANSACTION;
-- A lease that has ended, or is about to, does not hold back claims of its key: its key is locked instead.
EXEC dbo.JobOutboxLockKeys @Leases = @Leases, @LateBefore = @Late;
SET @Now = SYSUTCDATETIME();
UPDATE o
SET LockedUntil = DATEADD(MILLISECOND, @LeaseMs, @Now)
OUTPUT inserted.Id, inserted.ClaimNo INTO @Ours (Id, ClaimNo)
FROM @Given AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = g.ClaimNo
  AND (o.LockedUntil >= CASE WHEN @Late > @Now THEN @Late ELSE @Now END OR o.OrderingKey IS NULL
       OR (NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)
                       WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = o.OrderingKey AND p.Id < o.Id
                         AND p.Status = 1
                         AND (p.LockedUntil >= @Now
                              OR (p.ClaimedBy = @ClaimedBy
                                  AND EXISTS (SELECT 1 FROM @Given AS also WHERE also.Id = p.Id AND also.ClaimNo = p.ClaimNo))))
           AND NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS p WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)
                           WHERE p.Status <= 1 AND p.OrderingKey IS NOT NULL AND p.OrderingKey = o.OrderingKey AND p.Id > o.Id
                             AND p.Status = 1 AND p.LockedUntil >= @Now)))
OPTION (MAXDOP 1);
COMMIT TRANSACTION;
SELECT o.Id, o.ClaimNo FROM @Ours AS o;
GO

-- Ends claims of delivered messages: the common case of JobOutboxSettle. Returns those that were the caller's.
-- @KeepDispatched 0: the rows leave, with their history. May run inside the caller's transaction, beside a hand-over.
CREATE OR ALTER PROCEDURE dbo.JobOutboxSettleDispatched
    @ClaimedBy      NVARCHAR(100),
    @Leases         NVARCHAR(MAX),
    @KeepDispatched BIT = 1
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 0;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Mine BIT = 0;
DECLARE @Given TABLE (Id BIGINT NOT NULL, ClaimNo BIGINT NOT NULL, PRIMARY KEY (Id, ClaimNo));
DECLARE @Ours TABLE (Id BIGINT NOT NULL PRIMARY KEY, ClaimNo BIGINT NOT NULL);
INSERT INTO @Given (Id, ClaimNo)
SELECT DISTINCT g.Id, g.ClaimNo FROM OPENJSON(@Leases) WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no') AS g;
IF @@TRANCOUNT = 0
BEGIN
    SET @Mine = 1;
    BEGIN TRANSACTION;
END;
EXEC dbo.JobOutboxLockKeys @Leases = @Leases;
IF @KeepDispatched = 1
    UPDATE o
    SET Status = 2, DispatchedUtc = SYSUTCDATETIME(), ClaimedBy = NULL, LockedUntil = NULL, LastError = NULL
    OUTPUT inserted.Id, inserted.ClaimNo INTO @Ours (Id, ClaimNo)
    FROM @Given AS g
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
    WHERE o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = g.ClaimNo
    OPTION (MAXDOP 1);
ELSE
BEGIN
    DELETE o
    OUTPUT deleted.Id, deleted.ClaimNo INTO @Ours (Id, ClaimNo)
    FROM @Given AS g
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
    WHERE o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = g.ClaimNo
    OPTION (MAXDOP 1);
    -- A first claim has no history of earlier ones.
    DELETE a
    FROM @Ours AS s
    INNER LOOP JOIN dbo.JobOutboxAttempt AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.OutboxId = s.Id
    WHERE s.ClaimNo > 1;
END;
IF @Mine = 1 COMMIT TRANSACTION;
SELECT s.Id, s.ClaimNo FROM @Ours AS s;
GO

-- Ends claims, all outcomes in one transaction; returns those that were the caller's. Each write matches Id, Status,
-- ClaimedBy and ClaimNo. May run inside the caller's transaction, beside a hand-over.
-- @Settlements [{"id":1,"claim_no":2,"kind":1,"delay_ms":0,"reason":"attempts","policy":0,"code":"","error":"","took_ms":0}, …]
--   kind    0 dispatched, 1 retry, 2 dead, 3 release (the attempt is given back)
--   policy  what a death does to its key: 0 hold, 1 skip, 2 park
CREATE OR ALTER PROCEDURE dbo.JobOutboxSettle
    @ClaimedBy      NVARCHAR(100),
    @Settlements    NVARCHAR(MAX),
    @KeepDispatched BIT = 1
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
EXEC dbo.JobOutboxRefuseTransaction @Any = 0;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Mine BIT = 0, @Now DATETIME2(3);
DECLARE @Ours TABLE (Id BIGINT NOT NULL PRIMARY KEY, ClaimNo BIGINT NOT NULL, Kind TINYINT NOT NULL, DelayMs BIGINT NOT NULL,
                     Reason NVARCHAR(20) NOT NULL, Policy TINYINT NOT NULL, Code NVARCHAR(200) NOT NULL,
                     Error NVARCHAR(2000) NOT NULL, TookMs BIGINT NOT NULL, Life INT NOT NULL, Attempts INT NOT NULL,
                     MessageId UNIQUEIDENTIFIER NOT NULL, JobType NVARCHAR(200) NOT NULL,
                     OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NULL);
DECLARE @Parked TABLE (Id BIGINT NOT NULL PRIMARY KEY, Life INT NOT NULL, MessageId UNIQUEIDENTIFIER NOT NULL,
                       JobType NVARCHAR(200) NOT NULL, OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NULL,
                       Attempts INT NOT NULL, LastError NVARCHAR(2000) NULL);
IF @@TRANCOUNT = 0
BEGIN
    SET @Mine = 1;
    BEGIN TRANSACTION;
END;
EXEC dbo.JobOutboxLockKeys @Leases = @Settlements;
SET @Now = SYSUTCDATETIME();
INSERT INTO @Ours (Id, ClaimNo, Kind, DelayMs, Reason, Policy, Code, Error, TookMs, Life, Attempts, MessageId, JobType, OrderingKey)
SELECT o.Id, g.ClaimNo, g.Kind, ISNULL(g.DelayMs, 0), ISNULL(g.Reason, N'permanent'), ISNULL(g.Policy, 0),
       LEFT(ISNULL(g.Code, N''), 200), LEFT(ISNULL(g.Error, N''), 2000), ISNULL(g.TookMs, 0), ISNULL(o.Life, 0), o.Attempts,
       o.MessageId, o.JobType, o.OrderingKey
FROM OPENJSON(@Settlements)
    WITH (Id BIGINT '$.id', ClaimNo BIGINT '$.claim_no', Kind TINYINT '$.kind', DelayMs BIGINT '$.delay_ms',
          Reason NVARCHAR(20) '$.reason', Policy TINYINT '$.policy', Code NVARCHAR(MAX) '$.code',
          Error NVARCHAR(MAX) '$.error', TookMs BIGINT '$.took_ms') AS g
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = g.Id
WHERE o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = g.ClaimNo
OPTION (MAXDOP 1);

IF @KeepDispatched = 1
    UPDATE o
    SET Status = 2, DispatchedUtc = @Now, ClaimedBy = NULL, LockedUntil = NULL, LastError = NULL
    FROM @Ours AS s
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = s.Id
    WHERE s.Kind = 0 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = s.ClaimNo
    OPTION (MAXDOP 1);
ELSE
BEGIN
    DELETE o
    FROM @Ours AS s
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = s.Id
    WHERE s.Kind = 0 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = s.ClaimNo
    OPTION (MAXDOP 1);
    DELETE a
    FROM @Ours AS s
    INNER LOOP JOIN dbo.JobOutboxAttempt AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.OutboxId = s.Id
    WHERE s.Kind = 0 AND s.ClaimNo > 1;
END;

UPDATE o
SET Status = 0, ClaimedBy = NULL, LockedUntil = NULL,
    AvailableUtc = DATEADD(MILLISECOND, s.DelayMs % 86400000, DATEADD(DAY, s.DelayMs / 86400000, @Now)),
    Attempts = CASE WHEN s.Kind = 3 AND o.Attempts > 0 THEN o.Attempts - 1 ELSE o.Attempts END,
    LastError = CASE WHEN s.Error <> N'' THEN s.Error ELSE o.LastError END
FROM @Ours AS s
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = s.Id
WHERE s.Kind IN (1, 3) AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = s.ClaimNo
OPTION (MAXDOP 1);

UPDATE o
SET Status = 3, ClaimedBy = NULL, LockedUntil = NULL, LastError = s.Error
FROM @Ours AS s
INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READCOMMITTEDLOCK, INDEX (PK_JobOutbox), FORCESEEK) ON o.Id = s.Id
WHERE s.Kind = 2 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = s.ClaimNo
OPTION (MAXDOP 1);

INSERT INTO dbo.JobOutboxDeadLetter (OutboxId, Life, MessageId, JobType, OrderingKey, Reason, Code, Error, Attempts, DeadUtc, HoldsKey)
SELECT s.Id, s.Life, s.MessageId, s.JobType, s.OrderingKey, s.Reason, s.Code, s.Error, s.Attempts, @Now,
       CASE WHEN s.OrderingKey IS NOT NULL AND s.Policy <> 1 THEN 1 ELSE 0 END
FROM @Ours AS s
WHERE s.Kind = 2;

IF EXISTS (SELECT 1 FROM @Ours AS s WHERE s.Kind = 2 AND s.Policy = 2 AND s.OrderingKey IS NOT NULL)
BEGIN
    -- Pending ones only: nobody holds them, and the key is locked. A row whose producer has not committed is passed over;
    -- the dead letter holds it back when it comes.
    UPDATE o
    SET Status = 3, LastError = N'parked: an earlier message of its ordering_key died'
    OUTPUT inserted.Id, ISNULL(inserted.Life, 0), inserted.MessageId, inserted.JobType, inserted.OrderingKey, inserted.Attempts,
           inserted.LastError INTO @Parked (Id, Life, MessageId, JobType, OrderingKey, Attempts, LastError)
    FROM @Ours AS s
    INNER LOOP JOIN dbo.JobOutbox AS o WITH (ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (IX_JobOutbox_Keys), FORCESEEK)
        ON o.OrderingKey = s.OrderingKey AND o.Id > s.Id
    WHERE s.Kind = 2 AND s.Policy = 2 AND o.Status <= 1 AND o.OrderingKey IS NOT NULL AND o.Status = 0
    OPTION (MAXDOP 1);
    INSERT INTO dbo.JobOutboxDeadLetter (OutboxId, Life, MessageId, JobType, OrderingKey, Reason, Code, Error, Attempts, DeadUtc, HoldsKey)
    SELECT p.Id, p.Life, p.MessageId, p.JobType, p.OrderingKey, N'parked', N'parked', p.LastError, p.Attempts, @Now, 1
    FROM @Parked AS p;
END;

INSERT INTO dbo.JobOutboxAttempt (OutboxId, Life, Attempt, ClaimNo, ClaimedBy, StartedUtc, EndedUtc, Outcome, Code, Error, TookMs)
SELECT s.Id, s.Life, s.Attempts, s.ClaimNo, @ClaimedBy,
       DATEADD(MILLISECOND, -(s.TookMs % 86400000), DATEADD(DAY, -(s.TookMs / 86400000), @Now)), @Now,
       CASE s.Kind WHEN 1 THEN N'retry' WHEN 2 THEN N'dead' ELSE N'release' END, s.Code, s.Error, s.TookMs
FROM @Ours AS s
WHERE s.Kind IN (1, 2) OR (s.Kind = 3 AND s.Code <> N'');
IF @Mine = 1 COMMIT TRANSACTION;
SELECT s.Id, s.ClaimNo FROM @Ours AS s;
GO

-- One message was delivered. Returns its row when the claim was still the caller's, none when it was reclaimed. @ClaimNo is
-- what the claim returned: ClaimedBy alone cannot tell two claims of one process apart.
CREATE OR ALTER PROCEDURE dbo.JobOutboxMarkDispatched
    @Id        BIGINT,
    @ClaimedBy NVARCHAR(100),
    @ClaimNo   BIGINT
AS
SET NOCOUNT, XACT_ABORT ON;
-- pbx: keeps the isolation level of its caller, which JobOutboxSettleDispatched looks at
DECLARE @Leases NVARCHAR(MAX) = CONCAT(N'[{"id":', @Id, N',"claim_no":', @ClaimNo, N'}]');
EXEC dbo.JobOutboxSettleDispatched @ClaimedBy = @ClaimedBy, @Leases = @Leases;
GO

-- One delivery failed: back to pending after @DelayMs, or dead when the attempts are used up.
CREATE OR ALTER PROCEDURE dbo.JobOutboxMarkFailed
    @Id          BIGINT,
    @ClaimedBy   NVARCHAR(100),
    @ClaimNo     BIGINT,
    @Error       NVARCHAR(2000),
    @Code        NVARCHAR(200) = N'',
    @MaxAttempts INT           = 10,
    @DelayMs     BIGINT        = 60000
AS
SET NOCOUNT, XACT_ABORT ON;
-- pbx: keeps the isolation level of its caller, which JobOutboxSettle looks at
DECLARE @Attempts INT, @Settlements NVARCHAR(MAX);
-- Attempts of a claimed row are its owner's; the settle asks again who that is.
SELECT @Attempts = o.Attempts FROM dbo.JobOutbox AS o WHERE o.Id = @Id;
SET @Settlements =
    (SELECT @Id AS id, @ClaimNo AS claim_no, CASE WHEN @Attempts >= @MaxAttempts THEN 2 ELSE 1 END AS kind, @DelayMs AS delay_ms,
            N'attempts' AS reason, 0 AS policy, @Code AS code, @Error AS error, 0 AS took_ms
     FOR JSON PATH);
EXEC dbo.JobOutboxSettle @ClaimedBy = @ClaimedBy, @Settlements = @Settlements;
GO

-- This relay lives. Returns whether it was asked to drain.
CREATE OR ALTER PROCEDURE dbo.JobOutboxHeartbeat
    @ClaimedBy  NVARCHAR(100),
    @Version    NVARCHAR(50),
    @Workers    INT,
    @LeasesHeld BIGINT,
    @Draining   BIT
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DELETE r
FROM dbo.JobOutboxRelay AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
WHERE r.HeartbeatUtc < DATEADD(DAY, -1, SYSUTCDATETIME()) AND r.ClaimedBy <> @ClaimedBy;
UPDATE r
SET Version = @Version, Workers = @Workers, LeasesHeld = @LeasesHeld, Draining = @Draining, HeartbeatUtc = SYSUTCDATETIME()
FROM dbo.JobOutboxRelay AS r WITH (ROWLOCK)
WHERE r.ClaimedBy = @ClaimedBy;
-- Nobody else inserts it: ClaimedBy holds a number drawn at this start.
IF @@ROWCOUNT = 0
    INSERT INTO dbo.JobOutboxRelay (ClaimedBy, Version, Workers, LeasesHeld, Draining)
    VALUES (@ClaimedBy, @Version, @Workers, @LeasesHeld, @Draining);
SELECT r.DrainAsked FROM dbo.JobOutboxRelay AS r WHERE r.ClaimedBy = @ClaimedBy;
GO

-- This relay stops.
CREATE OR ALTER PROCEDURE dbo.JobOutboxGoodbye
    @ClaimedBy NVARCHAR(100)
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DELETE r FROM dbo.JobOutboxRelay AS r WITH (ROWLOCK) WHERE r.ClaimedBy = @ClaimedBy;
GO
