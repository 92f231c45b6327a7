-- The dead letter of a message that replay.sql brought back in this transaction; with it the hold on its key ends.
--   :id
-- Index: the primary key. Locks: the writer.
delete from pillarbox_dead_letter where outbox_id = :id and discarded_at is null;
