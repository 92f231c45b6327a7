-- One migration at a time, until our transaction ends. $1 how long to wait for it and for other locks, ms, as text
select set_config('lock_timeout', $1, true), pg_advisory_xact_lock(1886351986, hashtext('pillarbox.migration'));
