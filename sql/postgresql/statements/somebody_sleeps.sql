-- Whether a relay sleeps: true when the lock cannot be shared. It is shared for the length of this statement only.
select not pg_try_advisory_xact_lock_shared(1886351984, hashtext('pillarbox.sleep'));
