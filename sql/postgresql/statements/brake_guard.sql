-- Waits for the claims that run now (milliseconds) and lets none begin until our transaction ends: see claim_guard.sql.
select pg_advisory_xact_lock(1886351985, hashtext('pillarbox.brake'));
