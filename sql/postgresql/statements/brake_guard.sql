-- Waits for the claims that run now (milliseconds) and lets none begin until our transaction ends: see claim_settings.sql.
-- For whoever sets a brake, and for replays: a claim that looked before must not go on beside the new head of its key.
select pg_advisory_xact_lock(1886351985, hashtext('pillarbox.brake'));
