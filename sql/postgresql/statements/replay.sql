-- Dead messages begin a new life: pending, due now, no attempts. $1 ids  $2 claim_nos  $3 who  $4 why
-- A row that is not dead, or has moved on since it was listed, is left alone. Returns the ids replayed.
with given as materialized (
  select g.id, g.claim_no from unnest($1::bigint[], $2::bigint[]) as g (id, claim_no)
), replayed as (
  update pillarbox.outbox as o
  set status = 0, attempts = 0, life = o.life + 1, available_at = now(), claimed_by = null, locked_until = null,
      last_error = null, expires_at = case when o.expires_at <= now() then null else o.expires_at end
  from given as g
  where o.id = g.id and o.status = 3 and o.claim_no = g.claim_no
  returning o.id, o.life, o.claim_no
), letters as (
  delete from pillarbox.dead_letter where outbox_id = any (array(select id from replayed)) and discarded_at is null
), history as (
  insert into pillarbox.attempt (outbox_id, life, attempt, claim_no, claimed_by, outcome, code, error)
  select id, life, 0, claim_no, $3, 'replayed', '', $4 from replayed
), noted as (
  insert into pillarbox.audit (who, action, what, why)
  select $3, 'replay', count(*) || ' messages', $4 from replayed having count(*) > 0
)
select id from replayed;
