-- Remembers that a consumer handled a message; changes() says 0 when it was handled before.
--   :consumer     1 to 100 characters
--   :message_id   UUID in lower case
-- Index: the primary key of pillarbox_inbox. Locks: the writer, until the caller commits.
insert into main.pillarbox_inbox (consumer, message_id) values (:consumer, :message_id)
on conflict (consumer, message_id) do nothing;
