-- This relay stops.
-- @ClaimedBy NVARCHAR(100)
EXEC dbo.JobOutboxGoodbye @ClaimedBy = @ClaimedBy;
