-- One message, in the caller's transaction. Returns its Id.
-- @MessageId UNIQUEIDENTIFIER, @JobType NVARCHAR(4000), @Payload VARBINARY(MAX), @ContentType NVARCHAR(4000)
-- @Headers NVARCHAR(MAX), @CorrelationId NVARCHAR(4000), @OrderingKey NVARCHAR(4000), @DelayMs BIGINT, @ExpiresInMs BIGINT
EXEC dbo.JobOutboxEnqueue @MessageId = @MessageId, @JobType = @JobType, @Payload = @Payload, @ContentType = @ContentType,
     @Headers = @Headers, @CorrelationId = @CorrelationId, @OrderingKey = @OrderingKey, @DelayMs = @DelayMs,
     @ExpiresInMs = @ExpiresInMs;
