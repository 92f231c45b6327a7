-- One payload, byte for byte.
--   :id
-- Index: the row's own number. Locks: nothing.
select o.payload from pillarbox_outbox o where o.id = :id;
