-- The inbox. Returns First.
-- @Consumer NVARCHAR(4000), @MessageId UNIQUEIDENTIFIER
EXEC dbo.JobOutboxOnce @Consumer = @Consumer, @MessageId = @MessageId;
