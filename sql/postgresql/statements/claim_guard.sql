-- Shared by all claims, exclusive for whoever sets a brake: after a brake was set, no claim that did not see it commits.
-- A statement of its own, so that the claim's snapshot is taken when the lock is held.
select pg_advisory_xact_lock_shared(1886351985, hashtext('pillarbox.brake'));
