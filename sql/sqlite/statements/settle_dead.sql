-- The message will not be tried again.
--   :id, :claimed_by, :claim_no, :error
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 3, claimed_by = null, locked_until = null, last_error = :error
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no;
