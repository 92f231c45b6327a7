-- Shared by all claims, exclusive for whoever sets a brake: after a brake was set, no claim that did not see it commits.
-- It also says which plans the claim is written for (see settings.sql).
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true),
       pg_advisory_xact_lock_shared(1886351985, hashtext('pillarbox.brake'));
