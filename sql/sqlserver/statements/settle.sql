-- Ends claims, all outcomes in one transaction; returns those that were ours. The JSON is described at JobOutboxSettle.
-- @ClaimedBy NVARCHAR(100), @Settlements NVARCHAR(MAX), @KeepDispatched BIT
EXEC dbo.JobOutboxSettle @ClaimedBy = @ClaimedBy, @Settlements = @Settlements, @KeepDispatched = @KeepDispatched;
