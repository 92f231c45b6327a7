-- Ends claims, all outcomes in one statement. Arrays of one length:
-- $1 claimed_by  $2 ids  $3 claim_nos  $4 kinds: 0 dispatched, 1 retry, 2 dead, 3 release  $5 delays, ms
-- $6 reasons of death  $7 what a death does to its key: 0 hold, 1 skip, 2 park  $8 codes  $9 errors  $10 took, ms
-- $11 keep dispatched rows
--
-- Each write matches id, status, claimed_by and claim_no. Looks rows up by primary key; `park` also walks the keys of the
-- dead in index outbox_keys. Returns those that were ours.
with given as materialized (
  select g.*
  from unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[], $6::text[], $7::smallint[], $8::text[],
              $9::text[], $10::bigint[])
       as g (id, claim_no, kind, delay_ms, reason, policy, code, error, took_ms)
), ours as materialized (
  select g.*, o.life, o.attempts, o.message_id, o.job_type, o.ordering_key
  from given as g
  join pillarbox.outbox as o on o.id = g.id
  where o.status = 1 and o.claimed_by = $1 and o.claim_no = g.claim_no
  order by o.id  -- whoever locks many rows locks them in one order
  for update of o
), dispatched as (
  update pillarbox.outbox as o
  set status = 2, dispatched_at = now(), claimed_by = null, locked_until = null, last_error = null
  from ours
  where $11::boolean and ours.kind = 0 and o.id = ours.id and o.status = 1 and o.claimed_by = $1
    and o.claim_no = ours.claim_no
), gone as (
  delete from pillarbox.outbox as o
  using ours
  where not $11::boolean and ours.kind = 0 and o.id = ours.id and o.status = 1 and o.claimed_by = $1
    and o.claim_no = ours.claim_no
), gone_history as (
  delete from pillarbox.attempt
  where not $11::boolean and outbox_id = any (array(select id from ours where kind = 0 and claim_no > 1))
), back as (
  update pillarbox.outbox as o
  set status = 0, claimed_by = null, locked_until = null,
      available_at = now() + ours.delay_ms * interval '1 millisecond',
      attempts = case when ours.kind = 3 then greatest(o.attempts - 1, 0) else o.attempts end,
      last_error = case when ours.error <> '' then ours.error else o.last_error end
  from ours
  where ours.kind in (1, 3) and o.id = ours.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = ours.claim_no
), died as (
  update pillarbox.outbox as o
  set status = 3, claimed_by = null, locked_until = null, last_error = ours.error
  from ours
  where ours.kind = 2 and o.id = ours.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = ours.claim_no
), letters as (
  insert into pillarbox.dead_letter (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts,
                                     dead_at, holds_key)
  select id, life, message_id, job_type, ordering_key, reason, code, error, attempts, clock_timestamp(),
         ordering_key is not null and policy <> 1
  from ours
  where kind = 2
), parked as (
  update pillarbox.outbox as o
  set status = 3, last_error = 'parked: an earlier message of its ordering_key died'
  from ours
  where ours.kind = 2 and ours.policy = 2 and o.ordering_key = ours.ordering_key and o.live and o.id > ours.id
    and o.status = 0
  returning o.id, o.life, o.message_id, o.job_type, o.ordering_key, o.attempts, o.last_error
), parked_letters as (
  insert into pillarbox.dead_letter (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts,
                                     dead_at, holds_key)
  select id, life, message_id, job_type, ordering_key, 'parked', 'parked', last_error, attempts, clock_timestamp(), true
  from parked
), history as (
  insert into pillarbox.attempt (outbox_id, life, attempt, claim_no, claimed_by, started_at, outcome, code, error,
                                 took_ms)
  select id, life, attempts, claim_no, $1, clock_timestamp() - took_ms * interval '1 millisecond',
         (array['dispatched', 'retry', 'dead', 'release'])[kind + 1], code, error, took_ms
  from ours
  where kind in (1, 2) or (kind = 3 and code <> '')
)
select id, claim_no from ours;
