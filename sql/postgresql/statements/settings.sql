-- The plans that the statements are written for: index walks. A cached plan made while the table was small must not
-- stay a sequential scan when it has grown. For this transaction only, so that a pooled connection keeps its own.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true);
