-- Back to pending, due :delay_ms from now; the attempt is given back, since the sink and not the message was at fault.
--   :id, :claimed_by, :claim_no, :now, :delay_ms
--   :error   null leaves last_error as it was
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 0, available_at = :now + :delay_ms, claimed_by = null, locked_until = null,
    attempts = max(attempts - 1, 0), last_error = coalesce(:error, last_error)
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no;
