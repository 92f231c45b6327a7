-- The database's clock: milliseconds since 1970-01-01T00:00:00Z. Every statement of one transaction is given this
-- value as :now, so that they agree.
-- Locks: nothing.
select cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer) as now_ms;
