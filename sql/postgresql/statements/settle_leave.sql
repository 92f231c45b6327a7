-- Delivered messages leave. $1 claimed_by  $2 ids  $3 claim_nos
-- Their history of earlier attempts, if they have one, leaves with them. Returns those that were ours.
with gone as (
  delete from pillarbox.outbox as o
  using unnest($2::bigint[], $3::bigint[]) as g (id, claim_no)
  where o.id = g.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = g.claim_no
  returning o.id, o.claim_no
), history as (
  delete from pillarbox.attempt where outbox_id = any (array(select id from gone where claim_no > 1))
)
select id, claim_no from gone;
