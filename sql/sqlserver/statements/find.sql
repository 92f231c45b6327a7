-- The row of a message.
-- @MessageId UNIQUEIDENTIFIER
EXEC dbo.JobOutboxFind @MessageId = @MessageId;
