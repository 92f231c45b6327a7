-- A message that was not dead gets its dead letter, for discard_letter.sql to close.
--   :id, :claim_no, :now
-- Index: the row's own number. Locks: the writer.
insert into pillarbox_dead_letter
  (outbox_id, life, message_id, job_type, ordering_key, reason, code, error, attempts, dead_at)
select o.id, o.life, o.message_id, o.job_type, o.ordering_key, 'permanent', 'discarded',
       'discarded before it was delivered', o.attempts, :now
from pillarbox_outbox o
where o.id = :id
  and o.status in (0, 3)
  and o.claim_no = :claim_no
on conflict (outbox_id, life) do nothing;
