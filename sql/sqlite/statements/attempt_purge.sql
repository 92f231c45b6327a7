-- The history of a message that has left.
--   :id
-- Index: pillarbox_attempt_outbox_id. Locks: the writer.
delete from pillarbox_attempt where outbox_id = :id;
