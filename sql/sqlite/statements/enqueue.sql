-- Enqueues one message in the transaction that is open. Repeating a message_id changes nothing.
--   :message_id       UUID in lower case
--   :job_type, :content_type, :payload
--   :headers          JSON object of strings, '{}' when there are none
--   :correlation_id, :ordering_key   null when absent
--   :delay_ms         not before this long from now
--   :expires_in_ms    null: never
-- Index: the unique one on message_id. Locks: the writer, until the caller commits; with it the order of a key's
-- messages is the order in which their transactions commit.
insert into main.pillarbox_outbox
  (message_id, job_type, payload, content_type, headers, correlation_id, ordering_key, available_at, expires_at)
select :message_id, :job_type, :payload, :content_type, :headers, :correlation_id, :ordering_key,
       clock.now_ms + :delay_ms, clock.now_ms + :expires_in_ms
from main.pillarbox_clock clock
where true
on conflict (message_id) do nothing;
