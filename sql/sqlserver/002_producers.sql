-- The producers' and consumers' interface: they run inside the caller's own transaction.
--
-- A producer needs EXECUTE on these and nothing else: the tables have the same owner. A refused message is error 51000,
-- raised before anything was written. It ends the caller's transaction, as every error of an enqueue must: a state change
-- that commits without its message is what an outbox is there to prevent.
--
-- Every procedure states its isolation level and its SET options. Both go back to the caller's when it returns. A pooled
-- session brings the isolation level of whoever had it before; and filtered indexes refuse writes (1934) from sessions that
-- lack these options, as those of DB-Library and of FreeTDS may.
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;   -- a procedure keeps these two as they are now
SET NOCOUNT, XACT_ABORT ON;
GO

-- Takes an application lock until the caller's transaction ends, or raises 51002. Waits as long as LOCK_TIMEOUT says.
CREATE OR ALTER PROCEDURE dbo.JobOutboxLock
    @Resource NVARCHAR(255),
    @Mode     VARCHAR(32) = 'Exclusive'
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Got INT, @Text NVARCHAR(2048);
EXEC @Got = sys.sp_getapplock @Resource = @Resource, @LockMode = @Mode, @LockOwner = 'Transaction';
IF @Got < 0
BEGIN
    SET @Text = CONCAT(N'pillarbox: the lock ', @Resource, N' was not had: ',
                       CASE @Got WHEN -1 THEN N'time-out' WHEN -2 THEN N'cancelled' WHEN -3 THEN N'deadlock' ELSE N'refused' END,
                       N'; repeat the transaction');
    THROW 51002, @Text, 1;
END;
GO

-- Raises 51000 and says which field is wrong, how, and what would be right.
CREATE OR ALTER PROCEDURE dbo.JobOutboxCheckMessage
    @JobType       NVARCHAR(4000),
    @PayloadJson   NVARCHAR(MAX),
    @Payload       VARBINARY(MAX),
    @ContentType   NVARCHAR(4000),
    @Headers       NVARCHAR(MAX),
    @CorrelationId NVARCHAR(4000),
    @OrderingKey   NVARCHAR(4000),
    @DelayMs       BIGINT,
    @Before        NVARCHAR(100) = N''
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Wrong NVARCHAR(1000), @Text NVARCHAR(2048), @Again NVARCHAR(4000), @Json NVARCHAR(MAX), @Bytes BIGINT, @Media NVARCHAR(4000);
-- LIKE under a binary collation compares code units: here U+0001 to U+001F and U+007F, and the halves of surrogate pairs.
DECLARE @Control NVARCHAR(20) = CONCAT(N'%[', NCHAR(1), N'-', NCHAR(31), NCHAR(127), N']%');
DECLARE @Surrogate NVARCHAR(20) = CONCAT(N'%[', CONVERT(NCHAR(1), 0x00D8), N'-', CONVERT(NCHAR(1), 0xFFDF), N']%');

IF @JobType IS NULL OR DATALENGTH(@JobType) = 0
    SET @Wrong = N'JobType is empty; give a logical name such as email.welcome.v1';
ELSE IF DATALENGTH(@JobType) > 400
    SET @Wrong = CONCAT(N'JobType has ', DATALENGTH(@JobType) / 2, N' characters or more, at most 200 are allowed');
ELSE IF @ContentType IS NULL OR DATALENGTH(@ContentType) = 0
    SET @Wrong = N'ContentType is empty; say application/octet-stream for bytes';
ELSE IF DATALENGTH(@ContentType) > 200
    SET @Wrong = CONCAT(N'ContentType has ', DATALENGTH(@ContentType) / 2, N' characters or more, at most 100 are allowed');
ELSE IF DATALENGTH(@CorrelationId) > 128
    SET @Wrong = CONCAT(N'CorrelationId has ', DATALENGTH(@CorrelationId) / 2, N' characters or more, at most 64 are allowed');
ELSE IF DATALENGTH(@OrderingKey) > 400
    SET @Wrong = CONCAT(N'OrderingKey has ', DATALENGTH(@OrderingKey) / 2, N' characters or more, at most 200 are allowed');
ELSE IF @DelayMs NOT BETWEEN 0 AND 316224000000
    SET @Wrong = N'DelayMs must be from 0 to 3660 days';
ELSE
    SELECT TOP (1) @Wrong = CONCAT(field.Name, N' holds a control character; none is allowed')
    FROM (VALUES (N'JobType', @JobType), (N'ContentType', @ContentType), (N'CorrelationId', @CorrelationId),
                 (N'OrderingKey', @OrderingKey)) AS field (Name, Value)
    WHERE field.Value COLLATE Latin1_General_BIN2 LIKE @Control COLLATE Latin1_General_BIN2
       OR CHARINDEX(NCHAR(0) COLLATE Latin1_General_BIN2, field.Value COLLATE Latin1_General_BIN2) > 0;

IF @Wrong IS NULL AND @Payload IS NULL AND @PayloadJson IS NULL
    SET @Wrong = N'there is no payload; give the JSON text null, or bytes';
IF @Wrong IS NULL AND @Payload IS NOT NULL AND @PayloadJson IS NOT NULL AND DATALENGTH(@PayloadJson) > 0
    SET @Wrong = N'both PayloadJson and Payload are given; give one';
IF @Wrong IS NULL
BEGIN
    -- A UTF-16 unit is at most three bytes of UTF-8: count them only where it can matter.
    SET @Bytes = ISNULL(DATALENGTH(@Payload), DATALENGTH(@PayloadJson) / 2);
    IF @Payload IS NULL AND @Bytes BETWEEN 5592406 AND 16777216
        SET @Bytes = DATALENGTH(CONVERT(VARCHAR(MAX), @PayloadJson COLLATE Latin1_General_100_BIN2_UTF8));
    IF @Bytes > 16777216
        SET @Wrong = CONCAT(N'the payload has ', @Bytes,
                            N' bytes or more, at most 16777216 are allowed; store it elsewhere and send its id');
END;

IF @Wrong IS NULL AND @Headers IS NOT NULL
BEGIN
    IF ISJSON(@Headers) = 0 OR LEFT(LTRIM(REPLACE(REPLACE(REPLACE(@Headers, NCHAR(9), N''), NCHAR(10), N''), NCHAR(13), N'')), 1) <> N'{'
        SET @Wrong = N'Headers must be a JSON object of strings';
    ELSE IF DATALENGTH(CONVERT(VARCHAR(MAX), @Headers COLLATE Latin1_General_100_BIN2_UTF8)) > 32768
        SET @Wrong = N'the headers have more than 32768 bytes';
    ELSE IF EXISTS (SELECT 1 FROM OPENJSON(@Headers) AS h WHERE h.[type] <> 1)
        SET @Wrong = N'Headers holds a value that is not a string';
    ELSE
    BEGIN
        SELECT TOP (1) @Again = h.[key]
        FROM OPENJSON(@Headers) AS h
        GROUP BY h.[key]   -- its collation is binary
        HAVING COUNT(*) > 1 OR DATALENGTH(h.[key]) = 0;
        IF @Again IS NOT NULL
            SET @Wrong = CONCAT(N'Headers has the name "', LEFT(@Again, 100), N'" twice, or a name that is empty');
    END;
END;

IF @Wrong IS NULL
BEGIN
    SET @Media = LOWER(TRIM(LEFT(@ContentType, CHARINDEX(N';', @ContentType + N';') - 1)));
    IF @Media = N'application/json' OR @Media LIKE N'%+json'
    BEGIN
        SET @Json = @PayloadJson;
        IF @Payload IS NOT NULL
        BEGIN
            -- Stored into a column of UTF-8, bytes are read as what they are and are not converted from a code page.
            DECLARE @Utf8 TABLE (Value VARCHAR(MAX) COLLATE Latin1_General_100_BIN2_UTF8 NULL);
            INSERT INTO @Utf8 (Value) VALUES (@Payload);
            SELECT @Json = CONVERT(NVARCHAR(MAX), u.Value) FROM @Utf8 AS u;
            IF CONVERT(VARBINARY(MAX), CONVERT(VARCHAR(MAX), @Json COLLATE Latin1_General_100_BIN2_UTF8)) <> @Payload
                SET @Wrong = N'the payload is not UTF-8 though ContentType says JSON';
        END
        ELSE IF @Json COLLATE Latin1_General_BIN2 LIKE @Surrogate COLLATE Latin1_General_BIN2
             AND CONVERT(VARBINARY(MAX), CONVERT(NVARCHAR(MAX), CONVERT(VARCHAR(MAX), @Json COLLATE Latin1_General_100_BIN2_UTF8)))
                 <> CONVERT(VARBINARY(MAX), @Json)
            SET @Wrong = N'the payload holds half a surrogate pair, which is no character';
        -- ISJSON knows objects and arrays only. Any other value is JSON when it is the one element of an array.
        IF @Wrong IS NULL AND ISJSON(@Json) = 0
           AND (ISJSON(CONCAT(N'[', @Json, N']')) = 0
                OR (SELECT COUNT(*) FROM OPENJSON(CONCAT(N'[', @Json, N']')) AS element) <> 1)
            SET @Wrong = CONCAT(N'the payload is not JSON though ContentType is ', @ContentType);
    END
    ELSE IF @Payload IS NULL
         AND @PayloadJson COLLATE Latin1_General_BIN2 LIKE @Surrogate COLLATE Latin1_General_BIN2
         AND CONVERT(VARBINARY(MAX), CONVERT(NVARCHAR(MAX), CONVERT(VARCHAR(MAX), @PayloadJson COLLATE Latin1_General_100_BIN2_UTF8)))
             <> CONVERT(VARBINARY(MAX), @PayloadJson)
        SET @Wrong = N'the payload holds half a surrogate pair, which is no character';
END;

IF @Wrong IS NOT NULL
BEGIN
    SET @Text = CONCAT(N'message refused: ', @Before, @Wrong);
    THROW 51000, @Text, 1;
END;
GO

-- One message, inside the caller's transaction. Returns one row with its Id, and the same Id for the same MessageId again.
--
-- The first four parameters and the answer are the article's. Parameters are wider than their columns, so that a text that
-- is too long is refused and not cut in silence.
--
-- 2627 cannot be raised by two callers of this procedure: who has a MessageId takes a lock of that name until its
-- transaction ends, so between the look and the INSERT nobody else inserts it. Catching the error would not do: under
-- XACT_ABORT ON it dooms the caller's transaction before any CATCH. Range locks on the index would make strangers wait.
CREATE OR ALTER PROCEDURE dbo.JobOutboxEnqueue
    @MessageId     UNIQUEIDENTIFIER = NULL,
    @JobType       NVARCHAR(4000),
    @PayloadJson   NVARCHAR(MAX)    = NULL,
    @CorrelationId NVARCHAR(4000)   = NULL,
    @OrderingKey   NVARCHAR(4000)   = NULL,
    @DelayMs       BIGINT           = NULL,
    @AvailableUtc  DATETIME2(3)     = NULL,
    @ExpiresUtc    DATETIME2(3)     = NULL,
    @ExpiresInMs   BIGINT           = NULL,
    @ContentType   NVARCHAR(4000)   = N'application/json',
    @Headers       NVARCHAR(MAX)    = NULL,
    @Payload       VARBINARY(MAX)   = NULL,
    @Id            BIGINT           = NULL OUTPUT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Ours BIT = 0, @Moment DATETIME2(3), @Resource NVARCHAR(255);
SET @OrderingKey = NULLIF(@OrderingKey, N'');
SET @CorrelationId = NULLIF(@CorrelationId, N'');
SET @Id = NULL;
EXEC dbo.JobOutboxCheckMessage @JobType = @JobType, @PayloadJson = @PayloadJson, @Payload = @Payload,
     @ContentType = @ContentType, @Headers = @Headers, @CorrelationId = @CorrelationId, @OrderingKey = @OrderingKey,
     @DelayMs = @DelayMs;

IF @@TRANCOUNT = 0
BEGIN
    SET @Ours = 1;
    BEGIN TRANSACTION;
END;
IF @OrderingKey IS NOT NULL
BEGIN
    -- Before the Id is drawn: the order of Ids is then the order of commits, for this key.
    SET @Resource = CONCAT(N'pbx:k:', RTRIM(@OrderingKey));
    EXEC dbo.JobOutboxLock @Resource = @Resource;
END;
IF @MessageId IS NOT NULL
BEGIN
    SET @Resource = CONCAT(N'pbx:m:', @MessageId);
    EXEC dbo.JobOutboxLock @Resource = @Resource;
    SELECT @Id = o.Id
    FROM dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId))
    WHERE o.MessageId = @MessageId;
END;
IF @Id IS NULL
BEGIN
    SET @Moment = SYSUTCDATETIME();
    INSERT INTO dbo.JobOutbox (MessageId, JobType, PayloadJson, Payload, ContentType, Headers, CorrelationId, OrderingKey,
                               OccurredUtc, AvailableUtc, ExpiresUtc, ClaimNo, Life)
    VALUES (ISNULL(@MessageId, NEWID()), @JobType, CASE WHEN @Payload IS NULL THEN @PayloadJson ELSE N'' END, @Payload,
            @ContentType, @Headers, @CorrelationId, @OrderingKey, @Moment,
            -- DATEADD counts in INT: days, then what is left of one.
            COALESCE(@AvailableUtc, DATEADD(MILLISECOND, @DelayMs % 86400000, DATEADD(DAY, @DelayMs / 86400000, @Moment)), @Moment),
            COALESCE(@ExpiresUtc, DATEADD(MILLISECOND, @ExpiresInMs % 86400000, DATEADD(DAY, @ExpiresInMs / 86400000, @Moment))),
            0, 0);
    SET @Id = CONVERT(BIGINT, SCOPE_IDENTITY());
END;
IF @Ours = 1 COMMIT TRANSACTION;
SELECT @Id AS Id;
GO

-- Many messages, from SqlClient as a structured parameter. Nth is the order. Null takes the default.
IF TYPE_ID(N'dbo.JobOutboxMessageList') IS NULL
CREATE TYPE dbo.JobOutboxMessageList AS TABLE
(
    Nth           INT              NOT NULL PRIMARY KEY,
    MessageId     UNIQUEIDENTIFIER NULL,
    JobType       NVARCHAR(400)    NULL,
    PayloadJson   NVARCHAR(MAX)    NULL,
    Payload       VARBINARY(MAX)   NULL,
    ContentType   NVARCHAR(400)    NULL,
    Headers       NVARCHAR(MAX)    NULL,
    CorrelationId NVARCHAR(400)    NULL,
    OrderingKey   NVARCHAR(400)    NULL,
    DelayMs       BIGINT           NULL,
    ExpiresInMs   BIGINT           NULL
);
GO

-- All or none. Returns Nth, MessageId and Id in order; a MessageId that was there before keeps its Id.
CREATE OR ALTER PROCEDURE dbo.JobOutboxEnqueueMany
    @Messages dbo.JobOutboxMessageList READONLY
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Ours BIT = 0, @Moment DATETIME2(3), @Resource NVARCHAR(255), @Nth INT, @Count INT, @Before NVARCHAR(100);
DECLARE @JobType NVARCHAR(4000), @PayloadJson NVARCHAR(MAX), @Payload VARBINARY(MAX), @ContentType NVARCHAR(4000),
        @Headers NVARCHAR(MAX), @CorrelationId NVARCHAR(4000), @OrderingKey NVARCHAR(4000), @DelayMs BIGINT;
DECLARE @Given TABLE (Nth INT NOT NULL PRIMARY KEY, MessageId UNIQUEIDENTIFIER NOT NULL, Named BIT NOT NULL);
DECLARE @Locks TABLE (Nth INT NOT NULL IDENTITY (1, 1) PRIMARY KEY, Resource NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL);

SELECT @Count = COUNT(*), @Nth = MIN(m.Nth) FROM @Messages AS m;
WHILE @Nth IS NOT NULL
BEGIN
    SELECT @JobType = m.JobType, @PayloadJson = m.PayloadJson, @Payload = m.Payload,
           @ContentType = ISNULL(m.ContentType, N'application/json'), @Headers = m.Headers,
           @CorrelationId = NULLIF(m.CorrelationId, N''), @OrderingKey = NULLIF(m.OrderingKey, N''), @DelayMs = m.DelayMs
    FROM @Messages AS m
    WHERE m.Nth = @Nth;
    SET @Before = CONCAT(N'message ', @Nth, N' of ', @Count, N': ');
    EXEC dbo.JobOutboxCheckMessage @JobType = @JobType, @PayloadJson = @PayloadJson, @Payload = @Payload,
         @ContentType = @ContentType, @Headers = @Headers, @CorrelationId = @CorrelationId, @OrderingKey = @OrderingKey,
         @DelayMs = @DelayMs, @Before = @Before;
    SELECT @Nth = MIN(m.Nth) FROM @Messages AS m WHERE m.Nth > @Nth;
END;
INSERT INTO @Given (Nth, MessageId, Named)
SELECT m.Nth, ISNULL(m.MessageId, NEWID()), CASE WHEN m.MessageId IS NULL THEN 0 ELSE 1 END FROM @Messages AS m;

IF @@TRANCOUNT = 0
BEGIN
    SET @Ours = 1;
    BEGIN TRANSACTION;
END;
-- In one order, so that two callers cannot wait for each other here: keys first, then messages.
INSERT INTO @Locks (Resource)
SELECT wanted.Resource
FROM (SELECT DISTINCT CONCAT(N'pbx:k:', RTRIM(m.OrderingKey)) COLLATE Latin1_General_BIN2 AS Resource
      FROM @Messages AS m WHERE m.OrderingKey <> N''
      UNION
      SELECT CONCAT(N'pbx:m:', m.MessageId) COLLATE Latin1_General_BIN2 FROM @Messages AS m WHERE m.MessageId IS NOT NULL) AS wanted
ORDER BY wanted.Resource;
SELECT @Nth = MIN(l.Nth) FROM @Locks AS l;
WHILE @Nth IS NOT NULL
BEGIN
    SELECT @Resource = l.Resource FROM @Locks AS l WHERE l.Nth = @Nth;
    EXEC dbo.JobOutboxLock @Resource = @Resource;
    SELECT @Nth = MIN(l.Nth) FROM @Locks AS l WHERE l.Nth > @Nth;
END;

SET @Moment = SYSUTCDATETIME();
INSERT INTO dbo.JobOutbox (MessageId, JobType, PayloadJson, Payload, ContentType, Headers, CorrelationId, OrderingKey,
                           OccurredUtc, AvailableUtc, ExpiresUtc, ClaimNo, Life)
SELECT g.MessageId, m.JobType, CASE WHEN m.Payload IS NULL THEN m.PayloadJson ELSE N'' END, m.Payload,
       ISNULL(m.ContentType, N'application/json'), m.Headers, NULLIF(m.CorrelationId, N''), NULLIF(m.OrderingKey, N''), @Moment,
       ISNULL(DATEADD(MILLISECOND, m.DelayMs % 86400000, DATEADD(DAY, m.DelayMs / 86400000, @Moment)), @Moment),
       DATEADD(MILLISECOND, m.ExpiresInMs % 86400000, DATEADD(DAY, m.ExpiresInMs / 86400000, @Moment)), 0, 0
FROM @Given AS g
JOIN @Messages AS m ON m.Nth = g.Nth
-- Named twice in one call: the first one is the message.
WHERE NOT EXISTS (SELECT 1 FROM @Given AS earlier WHERE earlier.MessageId = g.MessageId AND earlier.Nth < g.Nth)
  AND (g.Named = 0
       OR NOT EXISTS (SELECT 1 FROM dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId))
                      WHERE o.MessageId = g.MessageId))
ORDER BY g.Nth
OPTION (MAXDOP 1);
IF @Ours = 1 COMMIT TRANSACTION;

SELECT g.Nth, g.MessageId, o.Id
FROM @Given AS g
JOIN dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId)) ON o.MessageId = g.MessageId
ORDER BY g.Nth;
GO

-- The same from a JSON array of objects, for clients without structured parameters. Members: job_type; payload (a JSON
-- object or array), payload_text (a string) or payload_base64 (bytes); message_id, content_type, headers (an object),
-- correlation_id, ordering_key, delay_ms, expires_in_ms.
CREATE OR ALTER PROCEDURE dbo.JobOutboxEnqueueJson
    @Messages NVARCHAR(MAX)
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @List dbo.JobOutboxMessageList;
IF @Messages IS NULL OR ISJSON(@Messages) = 0
    THROW 51000, N'message refused: Messages must be a JSON array of objects', 1;
INSERT INTO @List (Nth, MessageId, JobType, PayloadJson, Payload, ContentType, Headers, CorrelationId, OrderingKey, DelayMs, ExpiresInMs)
SELECT CONVERT(INT, element.[key]) + 1, m.MessageId, LEFT(m.JobType, 400), COALESCE(m.PayloadObject, m.PayloadText),
       CONVERT(XML, N'').value('xs:base64Binary(sql:column("m.PayloadBase64"))', 'VARBINARY(MAX)'),
       LEFT(m.ContentType, 400), m.Headers, LEFT(m.CorrelationId, 400), LEFT(m.OrderingKey, 400), m.DelayMs, m.ExpiresInMs
FROM OPENJSON(@Messages) AS element
CROSS APPLY OPENJSON(element.[value])
    WITH (MessageId     UNIQUEIDENTIFIER '$.message_id',
          JobType       NVARCHAR(MAX)    '$.job_type',
          PayloadObject NVARCHAR(MAX)    '$.payload' AS JSON,
          PayloadText   NVARCHAR(MAX)    '$.payload_text',
          PayloadBase64 NVARCHAR(MAX)    '$.payload_base64',
          ContentType   NVARCHAR(MAX)    '$.content_type',
          Headers       NVARCHAR(MAX)    '$.headers' AS JSON,
          CorrelationId NVARCHAR(MAX)    '$.correlation_id',
          OrderingKey   NVARCHAR(MAX)    '$.ordering_key',
          DelayMs       BIGINT           '$.delay_ms',
          ExpiresInMs   BIGINT           '$.expires_in_ms') AS m;
EXEC dbo.JobOutboxEnqueueMany @Messages = @List;
GO

-- The inbox: First is 1 the first time this consumer sees the message, in the eyes of the caller's transaction.
CREATE OR ALTER PROCEDURE dbo.JobOutboxOnce
    @Consumer  NVARCHAR(4000),
    @MessageId UNIQUEIDENTIFIER,
    @First     BIT = NULL OUTPUT
AS
SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Ours BIT = 0, @Resource NVARCHAR(255);
IF @Consumer IS NULL OR DATALENGTH(@Consumer) NOT BETWEEN 2 AND 200
    THROW 51000, N'Consumer must have 1 to 100 characters', 1;
IF @MessageId IS NULL
    THROW 51000, N'MessageId is null', 1;
IF @@TRANCOUNT = 0
BEGIN
    SET @Ours = 1;
    BEGIN TRANSACTION;
END;
SET @Resource = CONCAT(N'pbx:i:', @MessageId, N':', RTRIM(@Consumer));
EXEC dbo.JobOutboxLock @Resource = @Resource;
SET @First = 1;
SELECT @First = 0
FROM dbo.JobOutboxInbox AS i WITH (READCOMMITTEDLOCK)
WHERE i.Consumer = @Consumer AND i.MessageId = @MessageId;
IF @First = 1
    INSERT INTO dbo.JobOutboxInbox (Consumer, MessageId) VALUES (@Consumer, @MessageId);
IF @Ours = 1 COMMIT TRANSACTION;
SELECT @First AS First;
GO
