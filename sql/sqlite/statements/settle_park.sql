-- Policy `park`: the messages whose dead letters settle_park_letters.sql wrote in this transaction.
--   :id
-- Index: pillarbox_outbox_key_live. Locks: the writer.
update pillarbox_outbox indexed by pillarbox_outbox_key_live
set status = 3, last_error = 'an earlier message of its ordering_key died'
where ordering_key = (select dead.ordering_key from pillarbox_outbox dead where dead.id = :id)
  and ordering_key is not null
  and status <= 1
  and status = 0;
