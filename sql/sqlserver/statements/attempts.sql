-- The history of one message, every life, oldest first; at most 1000.
-- @Id BIGINT
EXEC dbo.JobOutboxAttempts @Id = @Id;
