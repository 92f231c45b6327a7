-- Lifts a brake.
--   :scope
-- Index: the primary key. Locks: the writer.
delete from pillarbox_brake where scope = :scope;
