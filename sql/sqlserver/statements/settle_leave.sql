-- Delivered messages leave, with their history; returns those that were ours. @Leases [{"id":1,"claim_no":2}, …]
-- @ClaimedBy NVARCHAR(100), @Leases NVARCHAR(MAX)
EXEC dbo.JobOutboxSettleDispatched @ClaimedBy = @ClaimedBy, @Leases = @Leases, @KeepDispatched = 0;
