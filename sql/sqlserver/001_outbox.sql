-- Pillarbox on SQL Server (2019 or newer, database compatibility level 150): the outbox and what stands beside it.
--
-- Run by `pillarbox migrate`, or by hand: sqlcmd -b -I -d shop -i 001_outbox.sql
-- Each batch (up to GO) is complete in itself and may run again: whoever is interrupted runs the file once more.
--
-- A database may hold dbo.JobOutbox already, of the shape of "The Outbox" (Id, MessageId, JobType, PayloadJson, Status,
-- OccurredUtc, ClaimedBy, LockedUntil, Attempts, DispatchedUtc, LastError, CorrelationId). What is missing is added, no
-- row is lost, and producers go on meanwhile:
--   * new columns may be null: adding them changes the catalog and no row, in every edition;
--   * rows that are alive are brought up to date 1000 at a time, so that no batch locks more;
--   * dispatched rows are not touched: a null in a new column of theirs reads as its default;
--   * the two indexes are built online where the edition can (Enterprise, Developer, Azure). Where it cannot, writers wait
--     for the length of two scans of the table: purge dispatched rows first.
SET ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
GO

-- One row a message. Status: 0 pending, 1 claimed, 2 dispatched, 3 dead.
IF OBJECT_ID(N'dbo.JobOutbox', N'U') IS NULL
CREATE TABLE dbo.JobOutbox
(
    Id            BIGINT           NOT NULL IDENTITY (1, 1),
    MessageId     UNIQUEIDENTIFIER NOT NULL,
    JobType       NVARCHAR(200)    NOT NULL,
    PayloadJson   NVARCHAR(MAX)    NOT NULL,                -- empty when Payload holds the bytes
    Status        TINYINT          NOT NULL CONSTRAINT DF_JobOutbox_Status DEFAULT (0),
    OccurredUtc   DATETIME2(3)     NOT NULL CONSTRAINT DF_JobOutbox_OccurredUtc DEFAULT (SYSUTCDATETIME()),
    ClaimedBy     NVARCHAR(100)    NULL,
    LockedUntil   DATETIME2(3)     NULL,
    Attempts      INT              NOT NULL CONSTRAINT DF_JobOutbox_Attempts DEFAULT (0),
    DispatchedUtc DATETIME2(3)     NULL,
    LastError     NVARCHAR(2000)   NULL,
    CorrelationId NVARCHAR(64)     NULL,
    CONSTRAINT PK_JobOutbox PRIMARY KEY CLUSTERED (Id)
);
GO

-- A producer may repeat itself: the same MessageId is one message.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'dbo.JobOutbox') AND name = N'UX_JobOutbox_MessageId')
    CREATE UNIQUE NONCLUSTERED INDEX UX_JobOutbox_MessageId ON dbo.JobOutbox (MessageId);
GO

-- Null in any of these is what a row from before has; it reads as the default named here. Keys compare as code points.
IF COL_LENGTH(N'dbo.JobOutbox', N'AvailableUtc') IS NULL
    ALTER TABLE dbo.JobOutbox ADD AvailableUtc DATETIME2(3) NULL
        CONSTRAINT DF_JobOutbox_AvailableUtc DEFAULT (SYSUTCDATETIME());
IF COL_LENGTH(N'dbo.JobOutbox', N'ExpiresUtc') IS NULL
    ALTER TABLE dbo.JobOutbox ADD ExpiresUtc DATETIME2(3) NULL;
IF COL_LENGTH(N'dbo.JobOutbox', N'ClaimNo') IS NULL        -- the fencing number: rises by one with each claim, never falls
    ALTER TABLE dbo.JobOutbox ADD ClaimNo BIGINT NULL CONSTRAINT DF_JobOutbox_ClaimNo DEFAULT (0);
IF COL_LENGTH(N'dbo.JobOutbox', N'Life') IS NULL           -- rises with each replay
    ALTER TABLE dbo.JobOutbox ADD Life INT NULL CONSTRAINT DF_JobOutbox_Life DEFAULT (0);
IF COL_LENGTH(N'dbo.JobOutbox', N'ContentType') IS NULL    -- null: application/json
    ALTER TABLE dbo.JobOutbox ADD ContentType NVARCHAR(100) NULL
        CONSTRAINT DF_JobOutbox_ContentType DEFAULT (N'application/json');
IF COL_LENGTH(N'dbo.JobOutbox', N'Headers') IS NULL        -- null, or a JSON object of strings
    ALTER TABLE dbo.JobOutbox ADD Headers NVARCHAR(MAX) NULL;
IF COL_LENGTH(N'dbo.JobOutbox', N'OrderingKey') IS NULL
    ALTER TABLE dbo.JobOutbox ADD OrderingKey NVARCHAR(200) COLLATE Latin1_General_BIN2 NULL;
IF COL_LENGTH(N'dbo.JobOutbox', N'Payload') IS NULL        -- when not null: these bytes, and not PayloadJson
    ALTER TABLE dbo.JobOutbox ADD Payload VARBINARY(MAX) NULL;
GO

-- A statement that enqueues thousands of messages must not end up holding the whole table until its caller commits.
IF EXISTS (SELECT 1 FROM sys.tables WHERE object_id = OBJECT_ID(N'dbo.JobOutbox') AND lock_escalation <> 1)
    ALTER TABLE dbo.JobOutbox SET (LOCK_ESCALATION = DISABLE);
GO

-- Rows that are alive get what the claim asks of them. They are found in the old IX_JobOutbox_Unprocessed.
DECLARE @From BIGINT = -1, @To BIGINT;
WHILE 1 = 1
BEGIN
    SELECT @To = MAX(step.Id)
    FROM (SELECT TOP (1000) o.Id FROM dbo.JobOutbox AS o WHERE o.Status <= 1 AND o.Id > @From ORDER BY o.Id) AS step;
    IF @To IS NULL BREAK;
    UPDATE o
    SET AvailableUtc = ISNULL(o.AvailableUtc, o.OccurredUtc), ClaimNo = ISNULL(o.ClaimNo, 0), Life = ISNULL(o.Life, 0)
    FROM dbo.JobOutbox AS o WITH (ROWLOCK)
    WHERE o.Id > @From AND o.Id <= @To AND o.Status <= 1
      AND (o.AvailableUtc IS NULL OR o.ClaimNo IS NULL OR o.Life IS NULL);
    SET @From = @To;
END;
GO

-- For what is written from now on; rows from before are not read for them.
IF OBJECT_ID(N'dbo.CK_JobOutbox_Status', N'C') IS NULL
    ALTER TABLE dbo.JobOutbox WITH NOCHECK ADD CONSTRAINT CK_JobOutbox_Status CHECK (Status <= 3);
IF OBJECT_ID(N'dbo.CK_JobOutbox_Lease', N'C') IS NULL
    ALTER TABLE dbo.JobOutbox WITH NOCHECK ADD CONSTRAINT CK_JobOutbox_Lease
        CHECK (Status <> 1 OR (ClaimedBy IS NOT NULL AND LockedUntil IS NOT NULL));
IF OBJECT_ID(N'dbo.CK_JobOutbox_Available', N'C') IS NULL
    ALTER TABLE dbo.JobOutbox WITH NOCHECK ADD CONSTRAINT CK_JobOutbox_Available CHECK (Status >= 2 OR AvailableUtc IS NOT NULL);
GO

-- What a claim of messages without a key walks, in the claim's own order; only live rows are in it. The article's index
-- of this name is ordered by Id alone: a million delayed rows would stand before the first that is due. OrderingKey, always
-- null here, is included because the optimizer otherwise looks it up in the table, row by row.
DECLARE @Has SYSNAME =
    (SELECT TOP (1) c.name
     FROM sys.indexes AS i
     JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal = 1
     JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
     WHERE i.object_id = OBJECT_ID(N'dbo.JobOutbox') AND i.name = N'IX_JobOutbox_Unprocessed');
DECLARE @Online BIT = CASE WHEN CONVERT(INT, SERVERPROPERTY(N'EngineEdition')) IN (3, 5, 8) THEN 1 ELSE 0 END;
IF @Has IS NOT NULL AND @Has <> N'AvailableUtc' AND @Online = 1
    CREATE NONCLUSTERED INDEX IX_JobOutbox_Unprocessed ON dbo.JobOutbox (AvailableUtc, Id)
        INCLUDE (Status, LockedUntil, JobType, OrderingKey) WHERE Status <= 1 AND OrderingKey IS NULL
        WITH (DROP_EXISTING = ON, ONLINE = ON);
ELSE IF @Has IS NOT NULL AND @Has <> N'AvailableUtc'
    CREATE NONCLUSTERED INDEX IX_JobOutbox_Unprocessed ON dbo.JobOutbox (AvailableUtc, Id)
        INCLUDE (Status, LockedUntil, JobType, OrderingKey) WHERE Status <= 1 AND OrderingKey IS NULL
        WITH (DROP_EXISTING = ON);
ELSE IF @Has IS NULL AND @Online = 1
    CREATE NONCLUSTERED INDEX IX_JobOutbox_Unprocessed ON dbo.JobOutbox (AvailableUtc, Id)
        INCLUDE (Status, LockedUntil, JobType, OrderingKey) WHERE Status <= 1 AND OrderingKey IS NULL
        WITH (ONLINE = ON);
ELSE IF @Has IS NULL
    CREATE NONCLUSTERED INDEX IX_JobOutbox_Unprocessed ON dbo.JobOutbox (AvailableUtc, Id)
        INCLUDE (Status, LockedUntil, JobType, OrderingKey) WHERE Status <= 1 AND OrderingKey IS NULL;

-- The live messages of each key in order. A claim jumps from key to key: the first entry of a key is its head.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'dbo.JobOutbox') AND name = N'IX_JobOutbox_Keys')
    IF @Online = 1
        CREATE NONCLUSTERED INDEX IX_JobOutbox_Keys ON dbo.JobOutbox (OrderingKey, Id)
            INCLUDE (Status, LockedUntil, AvailableUtc, JobType) WHERE Status <= 1 AND OrderingKey IS NOT NULL
            WITH (ONLINE = ON);
    ELSE
        CREATE NONCLUSTERED INDEX IX_JobOutbox_Keys ON dbo.JobOutbox (OrderingKey, Id)
            INCLUDE (Status, LockedUntil, AvailableUtc, JobType) WHERE Status <= 1 AND OrderingKey IS NOT NULL;
GO

-- Every attempt that did not simply succeed, and what operators did.
IF OBJECT_ID(N'dbo.JobOutboxAttempt', N'U') IS NULL
CREATE TABLE dbo.JobOutboxAttempt
(
    OutboxId   BIGINT         NOT NULL,
    Entry      BIGINT         NOT NULL IDENTITY (1, 1),
    Life       INT            NOT NULL,
    Attempt    INT            NOT NULL,
    ClaimNo    BIGINT         NOT NULL,
    ClaimedBy  NVARCHAR(100)  NULL,
    StartedUtc DATETIME2(3)   NULL,
    EndedUtc   DATETIME2(3)   NOT NULL CONSTRAINT DF_JobOutboxAttempt_EndedUtc DEFAULT (SYSUTCDATETIME()),
    Outcome    NVARCHAR(30)   NOT NULL,   -- retry, dead, release, lease_lost, replayed, released_by_operator
    Code       NVARCHAR(200)  NULL,
    Error      NVARCHAR(2000) NULL,
    TookMs     BIGINT         NOT NULL CONSTRAINT DF_JobOutboxAttempt_TookMs DEFAULT (0),
    CONSTRAINT PK_JobOutboxAttempt PRIMARY KEY CLUSTERED (OutboxId, Entry)
);

-- One row for each death. DiscardedUtc makes it a tombstone: the message itself is gone.
IF OBJECT_ID(N'dbo.JobOutboxDeadLetter', N'U') IS NULL
CREATE TABLE dbo.JobOutboxDeadLetter
(
    OutboxId      BIGINT           NOT NULL,
    Life          INT              NOT NULL,
    MessageId     UNIQUEIDENTIFIER NOT NULL,
    JobType       NVARCHAR(200)    NOT NULL,
    OrderingKey   NVARCHAR(200)    COLLATE Latin1_General_BIN2 NULL,
    Reason        NVARCHAR(20)     NOT NULL,   -- permanent, attempts, poison, expired, malformed, parked
    Code          NVARCHAR(200)    NULL,
    Error         NVARCHAR(2000)   NULL,
    Attempts      INT              NOT NULL,
    DeadUtc       DATETIME2(3)     NOT NULL CONSTRAINT DF_JobOutboxDeadLetter_DeadUtc DEFAULT (SYSUTCDATETIME()),
    HoldsKey      BIT              NOT NULL CONSTRAINT DF_JobOutboxDeadLetter_HoldsKey DEFAULT (0),
    DiscardedUtc  DATETIME2(3)     NULL,
    DiscardedBy   NVARCHAR(100)    NULL,
    DiscardReason NVARCHAR(1000)   NULL,
    CONSTRAINT PK_JobOutboxDeadLetter PRIMARY KEY CLUSTERED (OutboxId, Life)
);
IF NOT EXISTS (SELECT 1 FROM sys.indexes
               WHERE object_id = OBJECT_ID(N'dbo.JobOutboxDeadLetter') AND name = N'IX_JobOutboxDeadLetter_Holding')
    CREATE NONCLUSTERED INDEX IX_JobOutboxDeadLetter_Holding ON dbo.JobOutboxDeadLetter (OrderingKey, OutboxId)
        WHERE HoldsKey = 1;

-- The consumer's memory: one effect for many deliveries.
IF OBJECT_ID(N'dbo.JobOutboxInbox', N'U') IS NULL
CREATE TABLE dbo.JobOutboxInbox
(
    Consumer   NVARCHAR(100)    COLLATE Latin1_General_BIN2 NOT NULL,
    MessageId  UNIQUEIDENTIFIER NOT NULL,
    HandledUtc DATETIME2(3)     NOT NULL CONSTRAINT DF_JobOutboxInbox_HandledUtc DEFAULT (SYSUTCDATETIME()),
    CONSTRAINT PK_JobOutboxInbox PRIMARY KEY CLUSTERED (Consumer, MessageId)
);
IF NOT EXISTS (SELECT 1 FROM sys.indexes
               WHERE object_id = OBJECT_ID(N'dbo.JobOutboxInbox') AND name = N'IX_JobOutboxInbox_Age')
    CREATE NONCLUSTERED INDEX IX_JobOutboxInbox_Age ON dbo.JobOutboxInbox (HandledUtc);

-- Scope: all, type:email.welcome.v1 or type:email.*
IF OBJECT_ID(N'dbo.JobOutboxBrake', N'U') IS NULL
CREATE TABLE dbo.JobOutboxBrake
(
    Scope  NVARCHAR(210)  COLLATE Latin1_General_BIN2 NOT NULL,
    Reason NVARCHAR(1000) NOT NULL CONSTRAINT DF_JobOutboxBrake_Reason DEFAULT (N''),
    SetBy  NVARCHAR(100)  NOT NULL CONSTRAINT DF_JobOutboxBrake_SetBy DEFAULT (LEFT(ORIGINAL_LOGIN(), 100)),
    SetUtc DATETIME2(3)   NOT NULL CONSTRAINT DF_JobOutboxBrake_SetUtc DEFAULT (SYSUTCDATETIME()),
    CONSTRAINT PK_JobOutboxBrake PRIMARY KEY CLUSTERED (Scope),
    CONSTRAINT CK_JobOutboxBrake_Scope CHECK (Scope = N'all' OR (Scope LIKE N'type:_%' AND Scope NOT LIKE N'%*_%'))
);

-- Heartbeats.
IF OBJECT_ID(N'dbo.JobOutboxRelay', N'U') IS NULL
CREATE TABLE dbo.JobOutboxRelay
(
    ClaimedBy    NVARCHAR(100) NOT NULL,
    Version      NVARCHAR(50)  NOT NULL,
    Workers      INT           NOT NULL,
    LeasesHeld   BIGINT        NOT NULL CONSTRAINT DF_JobOutboxRelay_LeasesHeld DEFAULT (0),
    StartedUtc   DATETIME2(3)  NOT NULL CONSTRAINT DF_JobOutboxRelay_StartedUtc DEFAULT (SYSUTCDATETIME()),
    HeartbeatUtc DATETIME2(3)  NOT NULL CONSTRAINT DF_JobOutboxRelay_HeartbeatUtc DEFAULT (SYSUTCDATETIME()),
    Draining     BIT           NOT NULL CONSTRAINT DF_JobOutboxRelay_Draining DEFAULT (0),
    DrainAsked   BIT           NOT NULL CONSTRAINT DF_JobOutboxRelay_DrainAsked DEFAULT (0),
    CONSTRAINT PK_JobOutboxRelay PRIMARY KEY CLUSTERED (ClaimedBy)
);

-- Who did what: one line for each act of an operator.
IF OBJECT_ID(N'dbo.JobOutboxAudit', N'U') IS NULL
CREATE TABLE dbo.JobOutboxAudit
(
    Id     BIGINT         NOT NULL IDENTITY (1, 1),
    AtUtc  DATETIME2(3)   NOT NULL CONSTRAINT DF_JobOutboxAudit_AtUtc DEFAULT (SYSUTCDATETIME()),
    Who    NVARCHAR(100)  NOT NULL,
    Action NVARCHAR(30)   NOT NULL,
    What   NVARCHAR(300)  NOT NULL,
    Why    NVARCHAR(1000) NOT NULL CONSTRAINT DF_JobOutboxAudit_Why DEFAULT (N''),
    CONSTRAINT PK_JobOutboxAudit PRIMARY KEY CLUSTERED (Id)
);

-- Which of these files have been applied.
IF OBJECT_ID(N'dbo.JobOutboxSchemaMigration', N'U') IS NULL
CREATE TABLE dbo.JobOutboxSchemaMigration
(
    Number     INT           NOT NULL,
    Name       NVARCHAR(100) NOT NULL,
    Checksum   CHAR(64)      NOT NULL,   -- SHA-256 of the file
    AppliedUtc DATETIME2(3)  NOT NULL CONSTRAINT DF_JobOutboxSchemaMigration_AppliedUtc DEFAULT (SYSUTCDATETIME()),
    CONSTRAINT PK_JobOutboxSchemaMigration PRIMARY KEY CLUSTERED (Number)
);
GO

-- Messages that died before there were dead letters get theirs, so that they can be listed, replayed and discarded.
INSERT INTO dbo.JobOutboxDeadLetter (OutboxId, Life, MessageId, JobType, OrderingKey, Reason, Code, Error, Attempts)
SELECT o.Id, ISNULL(o.Life, 0), o.MessageId, o.JobType, o.OrderingKey, N'attempts', N'before_pillarbox', o.LastError, o.Attempts
FROM dbo.JobOutbox AS o
WHERE o.Status = 3
  AND NOT EXISTS (SELECT 1 FROM dbo.JobOutboxDeadLetter AS d WHERE d.OutboxId = o.Id AND d.DiscardedUtc IS NULL);
GO

-- Every message with its status as a word, and without its payload. PayloadBytes of a text counts its UTF-16 units, which
-- are its bytes when it is ASCII.
CREATE OR ALTER VIEW dbo.JobOutboxMessages
AS
SELECT o.Id, o.MessageId, o.JobType,
       CASE o.Status WHEN 0 THEN N'pending' WHEN 1 THEN N'claimed' WHEN 2 THEN N'dispatched' ELSE N'dead' END AS Status,
       ISNULL(o.ContentType, N'application/json') AS ContentType, o.Headers, o.CorrelationId, o.OrderingKey,
       COALESCE(DATALENGTH(o.Payload), DATALENGTH(o.PayloadJson) / 2) AS PayloadBytes,
       o.OccurredUtc, ISNULL(o.AvailableUtc, o.OccurredUtc) AS AvailableUtc, o.ExpiresUtc, o.ClaimedBy, o.LockedUntil,
       ISNULL(o.ClaimNo, 0) AS ClaimNo, o.Attempts, ISNULL(o.Life, 0) AS Life, o.DispatchedUtc, o.LastError
FROM dbo.JobOutbox AS o;
GO
