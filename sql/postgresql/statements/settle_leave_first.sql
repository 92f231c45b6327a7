-- Delivered messages leave that were claimed once. $1 claimed_by  $2 ids
-- The common case of settle_leave.sql: a first claim has no history of earlier ones. Returns those that were ours.
delete from pillarbox.outbox as o
where o.id = any ($2::bigint[]) and o.status = 1 and o.claimed_by = $1 and o.claim_no = 1
returning o.id, o.claim_no;
