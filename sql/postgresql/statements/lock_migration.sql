-- One migration at a time, until our transaction ends.
select pg_advisory_xact_lock(1886351986, hashtext('pillarbox.migration'));
