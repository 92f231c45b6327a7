-- The row's number of a message_id.
--   :message_id   UUID in lower case
-- Index: the unique one on message_id. Locks: nothing.
select o.id from pillarbox_outbox o where o.message_id = :message_id;
