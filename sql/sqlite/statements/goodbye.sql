-- A relay has stopped.
--   :claimed_by
-- Index: the primary key. Locks: the writer.
delete from pillarbox_relay where claimed_by = :claimed_by;
