-- Lengthens one lease that is still ours. A lease that ran out is taken up again only while nothing else of its key runs.
--   :id, :claimed_by, :claim_no, :now, :extension_ms
-- Index: the row's own number. Locks: the writer.
update pillarbox_outbox
set locked_until = :now + :extension_ms
where id = :id
  and status = 1
  and claimed_by = :claimed_by
  and claim_no = :claim_no
  and (locked_until > :now
       or ordering_key is null
       or not exists (select 1 from pillarbox_outbox other indexed by pillarbox_outbox_key_claimed
                      where other.ordering_key = pillarbox_outbox.ordering_key and other.status = 1
                        and other.locked_until > :now));
