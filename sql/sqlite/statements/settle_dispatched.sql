-- The sink has acknowledged: the message is done. Changes nothing when the lease is no longer ours.
--   :id, :claimed_by, :claim_no, :now
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 2, dispatched_at = :now, claimed_by = null, locked_until = null, last_error = null
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no;
