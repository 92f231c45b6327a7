-- SPDX-License-Identifier: Apache-2.0
-- A business procedure that enqueues: it attaches staged documents to a user, all or none, and asks for their upload.
CREATE TABLE dbo.PartnerDocumentUpload
(
    Id     BIGINT  NOT NULL CONSTRAINT PK_PartnerDocumentUpload PRIMARY KEY CLUSTERED,
    UserId BIGINT  NULL,
    Status TINYINT NOT NULL CONSTRAINT DF_PartnerDocumentUpload_Status DEFAULT (0)   -- 0 staged
);
CREATE TYPE dbo.PendingImageIdList AS TABLE (PendingImageId BIGINT NOT NULL PRIMARY KEY);
GO

-- [attach
CREATE OR ALTER PROCEDURE dbo.PartnerDocumentAttachAndEnqueue
    @UserId    BIGINT,
    @DocIds    dbo.PendingImageIdList READONLY,
    @MessageId UNIQUEIDENTIFIER
AS
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @Wanted INT = (SELECT COUNT(*) FROM @DocIds), @Payload NVARCHAR(MAX), @UserKey NVARCHAR(64) = CONCAT(N'user-', @UserId);
BEGIN TRY
    BEGIN TRANSACTION;
    UPDATE d
    SET UserId = @UserId
    FROM dbo.PartnerDocumentUpload AS d
    JOIN @DocIds AS w ON w.PendingImageId = d.Id
    WHERE d.UserId IS NULL AND d.Status = 0;
    IF @@ROWCOUNT <> @Wanted
        THROW 50001, N'not every document could be attached; none was', 1;

    -- Ids only: the worker loads what it needs.
    SET @Payload = (SELECT @UserId AS userId,
                           JSON_QUERY((SELECT CONCAT(N'[', STRING_AGG(CONVERT(NVARCHAR(MAX), w.PendingImageId), N','), N']')
                                       FROM @DocIds AS w)) AS documentIds
                    FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
    EXEC dbo.JobOutboxEnqueue @MessageId = @MessageId, @JobType = N'partner-docs.upload.v1', @PayloadJson = @Payload,
         @CorrelationId = @UserKey;
    COMMIT TRANSACTION;
END TRY
BEGIN CATCH
    IF XACT_STATE() <> 0 ROLLBACK TRANSACTION;
    THROW;
END CATCH;
GO
-- attach]
