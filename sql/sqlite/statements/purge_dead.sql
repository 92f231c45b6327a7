-- The message of a dead letter that was purged in this transaction.
--   :id
-- Index: the row's own number. Locks: the writer.
delete from pillarbox_outbox where id = :id and status = 3;
