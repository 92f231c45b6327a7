-- Marks delivered messages, and keeps them. $1 claimed_by  $2 ids  $3 claim_nos
-- The common case of settle.sql, alone because it is most of the work. Returns those that were ours.
update pillarbox.outbox as o
set status = 2, dispatched_at = now(), claimed_by = null, locked_until = null, last_error = null
from unnest($2::bigint[], $3::bigint[]) as g (id, claim_no)
where o.id = g.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = g.claim_no
returning o.id, o.claim_no;
