-- Dead or pending messages leave, and a tombstone stays. $1 ids  $2 claim_nos  $3 who  $4 why
-- A claimed row, or one that has moved on since it was listed, is left alone. Returns the ids discarded.
with given as materialized (
  select g.id, g.claim_no from unnest($1::bigint[], $2::bigint[]) as g (id, claim_no)
), gone as (
  delete from pillarbox.outbox as o
  using given as g
  where o.id = g.id and o.status in (0, 3) and o.claim_no = g.claim_no
  returning o.id, o.life, o.message_id, o.job_type, o.ordering_key, o.attempts, o.status
), letters as (
  update pillarbox.dead_letter as d
  set holds_key = false, discarded_at = now(), discarded_by = $3, discard_reason = $4
  from gone
  where d.outbox_id = gone.id and d.discarded_at is null
), tombstones as (
  insert into pillarbox.dead_letter (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts,
                                     discarded_at, discarded_by, discard_reason)
  select id, life, message_id, job_type, ordering_key, 'permanent', 'discarded', 'discarded before it was delivered',
         attempts, now(), $3, $4
  from gone
  where status = 0
), history as (
  delete from pillarbox.attempt where outbox_id = any (array(select id from gone))
), noted as (
  insert into pillarbox.audit (who, action, what, why)
  select $3, 'discard', count(*) || ' messages', $4 from gone having count(*) > 0
)
select id from gone;
