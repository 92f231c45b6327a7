-- A dead or pending message leaves for good. One that is claimed, dispatched or has moved on is left alone.
--   :id, :claim_no
-- Index: the row's own number. Locks: the writer.
delete from pillarbox_outbox
where id = :id
  and status in (0, 3)
  and claim_no = :claim_no;
