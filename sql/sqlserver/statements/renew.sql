-- Lengthens leases that are still ours; returns those. @Leases [{"id":1,"claim_no":2}, …]
-- @ClaimedBy NVARCHAR(100), @Leases NVARCHAR(MAX), @LeaseMs INT
EXEC dbo.JobOutboxRenew @ClaimedBy = @ClaimedBy, @Leases = @Leases, @LeaseMs = @LeaseMs;
