-- Many messages, as JobOutboxEnqueueJson has them. Returns Nth, MessageId and Id in order.
-- @Messages NVARCHAR(MAX)
EXEC dbo.JobOutboxEnqueueJson @Messages = @Messages;
