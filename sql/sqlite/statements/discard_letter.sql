-- The dead letter of a message that discard.sql removes in this transaction becomes its tombstone.
--   :id, :claim_no, :now, :who, :why
-- Index: the primary key. Locks: the writer.
update pillarbox_dead_letter
set holds_key = 0, discarded_at = :now, discarded_by = :who, discard_reason = :why
where outbox_id = :id
  and discarded_at is null
  and exists (select 1 from pillarbox_outbox o where o.id = :id and o.status in (0, 3) and o.claim_no = :claim_no);
