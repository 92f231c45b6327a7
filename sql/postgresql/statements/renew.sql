-- Lengthens leases that are still ours. $1 claimed_by  $2 ids  $3 claim_nos  $4 lease from now, ms
-- Looks rows up by primary key. Returns the ids of those that were ours.
update pillarbox.outbox as o
set locked_until = now() + $4::bigint * interval '1 millisecond'
from unnest($2::bigint[], $3::bigint[]) as g (id, claim_no)
where o.id = g.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = g.claim_no
returning o.id;
