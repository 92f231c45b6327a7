-- The history of one message, every life, oldest first.
--   :id
-- Index: pillarbox_attempt_outbox_id, whose entries of one message stand in the order of the rows' numbers. Locks: nothing.
select a.life, a.attempt, a.claim_no, a.claimed_by, a.started_at, a.ended_at, a.outcome, a.code, a.error, a.took_ms
from pillarbox_attempt a
where a.outbox_id = :id
order by a.rowid
limit 10000;
