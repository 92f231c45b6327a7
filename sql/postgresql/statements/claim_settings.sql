-- settings.sql for a claim. $1 time limit of each further statement, ms, as text
--
-- Takes the lock that is shared by all claims and exclusive for whoever sets a brake: after a brake was set, no claim
-- that did not see it commits. In a statement before the claim, so that the claim's snapshot is taken when the lock is
-- held.
select set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
       pg_advisory_xact_lock_shared(1886351985, hashtext('pillarbox.brake'));
