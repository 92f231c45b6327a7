-- The second statement of each of our transactions. $1 time limit of each further statement, ms, as text
--
-- A statement that nobody waits for any more must end by itself. The plans that the statements are written for are index
-- walks: a cached plan made while the table was small must not stay a sequential scan when it has grown. For this
-- transaction only, so that a pooled connection keeps its own settings.
select set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true);
