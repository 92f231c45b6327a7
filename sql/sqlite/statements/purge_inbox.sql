-- Removes what consumers handled longest ago, a batch of it.
--   :before   handled then or earlier
--   :batch    at most so many
-- Index: pillarbox_inbox_handled_at, oldest first, no sort. Locks: the writer.
delete from pillarbox_inbox
where (consumer, message_id) in (select i.consumer, i.message_id
                                 from pillarbox_inbox i indexed by pillarbox_inbox_handled_at
                                 where i.handled_at <= :before
                                 order by i.handled_at limit :batch);
