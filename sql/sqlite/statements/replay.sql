-- A dead message begins a new life: pending, due now, no attempts. Leaves alone one that has moved on since it was listed.
--   :id, :claim_no, :now
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set status = 0, attempts = 0, life = life + 1, available_at = :now, claimed_by = null, locked_until = null,
    last_error = null, expires_at = case when expires_at <= :now then null else expires_at end
where id = :id
  and status = 3
  and claim_no = :claim_no;
