-- Says that a relay sleeps: producers then notify. False when a producer's transaction, or another relay, has the lock.
select pg_try_advisory_lock(1886351984, hashtext('pillarbox.sleep'));
