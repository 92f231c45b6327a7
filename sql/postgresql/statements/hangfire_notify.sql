-- Wakes servers that wait in LISTEN; commits with the jobs.
select pg_notify('new_job', '');
