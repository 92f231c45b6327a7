-- Asks a relay to drain and stop. Returns how many there are of that name.
-- @ClaimedBy NVARCHAR(100)
EXEC dbo.JobOutboxAskToDrain @ClaimedBy = @ClaimedBy;
