-- An operator takes a lease: in the message's history. Runs before release.sql.
--   :id, :claim_no, :now
--   :error   who and why
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_attempt (outbox_id, life, attempt, claim_no, claimed_by, ended_at, outcome, error)
select o.id, o.life, o.attempts, o.claim_no, o.claimed_by, :now, 'released_by_operator', :error
from pillarbox_outbox o
where o.id = :id
  and o.status = 1
  and o.claim_no = :claim_no;
