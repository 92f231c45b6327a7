-- One message as a claimant sees it, before claim.sql changes it.
--   :id, :now
-- Index: the row's own number. Locks: nothing by itself.
select o.claim_no, o.message_id, o.job_type, o.content_type, o.headers, o.correlation_id, o.ordering_key, o.occurred_at,
       o.available_at, o.attempts, o.life, o.status = 1 as reclaimed, coalesce(o.expires_at <= :now, 0) as expired,
       o.payload
from pillarbox_outbox o
where o.id = :id;
