-- Hands messages over to Hangfire.PostgreSql: jobs, their first state, parameters and queue entries, in one statement.
-- Arrays of one length: $2 message_ids  $3 lives  $4 invocation data  $5 arguments  $6 job parameters  $7 queues
-- $8 reasons. $1 sink
--
-- The ledger goes first: what it knows already became a job before, and becomes none again. Ids are drawn from
-- Hangfire's own sequences, so that every insert knows them. Answers for each message with its job, and whether it is
-- new.
with given as materialized (
  select g.*, nextval(pg_get_serial_sequence('job', 'id')) as job_id,
         nextval(pg_get_serial_sequence('state', 'id')) as state_id
  from unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) with ordinality
       as g (message_id, life, invocation, arguments, parameters, queue, reason, place)
), known as (
  insert into pillarbox.handover (sink, message_id, life, engine_job_id)
  select $1, message_id, life, job_id::text from given order by message_id
  on conflict do nothing
  returning message_id, life
), fresh as materialized (
  select given.* from given join known using (message_id, life)
), jobs as (
  insert into job (id, stateid, statename, invocationdata, arguments, createdat)
  select job_id, state_id, 'Enqueued', invocation::jsonb, arguments::jsonb, now() from fresh order by place
), states as (
  insert into state (id, jobid, name, reason, createdat, data)
  select state_id, job_id, 'Enqueued', left(reason, 100), now(),
         jsonb_build_object('EnqueuedAt', to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"0Z"'), 'Queue', queue)
  from fresh order by place
), parameters as (
  insert into jobparameter (jobid, name, value)
  select f.job_id, p.key, p.value from fresh as f cross join lateral json_each_text(f.parameters::json) as p
), entries as (
  insert into jobqueue (jobid, queue) select job_id, queue from fresh order by place
)
select g.message_id, k.message_id is not null as is_new
from given as g left join known as k using (message_id, life)
order by g.place;
