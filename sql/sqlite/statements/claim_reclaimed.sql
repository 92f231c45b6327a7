-- A lease ran out: the attempt that held it enters the message's history. Runs before claim.sql.
--   :id, :now
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_attempt (outbox_id, life, attempt, claim_no, claimed_by, ended_at, outcome, code, error)
select o.id, o.life, o.attempts, o.claim_no, coalesce(o.claimed_by, ''), :now, 'lease_lost', 'lease_lost',
       'the lease ran out before the outcome was known'
from pillarbox_outbox o
where o.id = :id and o.status = 1 and o.locked_until <= :now;
