-- One dead letter that purge_dead_rows.sql found in this transaction.
--   :id, :life
-- Index: the primary key. Locks: the writer.
delete from pillarbox_dead_letter where outbox_id = :id and life = :life and discarded_at is null and holds_key = 0;
