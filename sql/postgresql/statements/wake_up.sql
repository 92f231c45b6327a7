-- We are awake: producers need not notify.
select pg_advisory_unlock(1886351984, hashtext('pillarbox.sleep'));
