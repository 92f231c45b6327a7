-- An operator takes leases from holders that are gone: pending, due now, the attempt stays counted.
-- $1 ids  $2 claim_nos  $3 who  $4 why. Returns the ids released.
with given as materialized (
  select g.id, g.claim_no from unnest($1::bigint[], $2::bigint[]) as g (id, claim_no)
), before as materialized (
  select o.id, o.claimed_by from pillarbox.outbox as o join given as g on g.id = o.id
  where o.status = 1 and o.claim_no = g.claim_no
  for update of o
), released as (
  update pillarbox.outbox as o
  set status = 0, claimed_by = null, locked_until = null, available_at = now()
  from given as g
  where o.id = g.id and o.status = 1 and o.claim_no = g.claim_no
  returning o.id, o.life, o.attempts, o.claim_no
), history as (
  insert into pillarbox.attempt (outbox_id, life, attempt, claim_no, claimed_by, outcome, code, error)
  select r.id, r.life, r.attempts, r.claim_no, b.claimed_by, 'released_by_operator', '', $3 || ': ' || $4
  from released as r left join before as b on b.id = r.id
), noted as (
  insert into pillarbox.audit (who, action, what, why)
  select $3, 'release', count(*) || ' messages', $4 from released having count(*) > 0
)
select id from released;
