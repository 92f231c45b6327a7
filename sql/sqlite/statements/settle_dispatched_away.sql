-- As settle_dispatched.sql, for an outbox that keeps no dispatched messages: the row leaves.
--   :id, :claimed_by, :claim_no
-- Index: the row's own number. Locks: the writer.
delete from pillarbox_outbox
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no;
