-- One payload: bytes, or a text when Payload is null.
-- @Id BIGINT
EXEC dbo.JobOutboxPayload @Id = @Id;
