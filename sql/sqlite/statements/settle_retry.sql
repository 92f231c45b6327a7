-- Back to pending, due :delay_ms from now; the attempt stays counted.
--   :id, :claimed_by, :claim_no, :now, :delay_ms, :error
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 0, available_at = :now + :delay_ms, claimed_by = null, locked_until = null, last_error = :error
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no;
