-- The replay in the message's history.
--   :id, :now, :who, :why
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_attempt (outbox_id, life, attempt, claim_no, claimed_by, ended_at, outcome, error)
select o.id, o.life, o.attempts, o.claim_no, :who, :now, 'replayed', :why
from pillarbox_outbox o
where o.id = :id;
