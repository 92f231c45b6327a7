-- Removes the oldest dispatched messages, a batch of them. Their history leaves first, by purge_dispatched_history.sql.
--   :before   dispatched then or earlier
--   :batch    at most so many
-- Index: pillarbox_outbox_dispatched, oldest first, no sort. Locks: the writer.
delete from pillarbox_outbox
where id in (select o.id from pillarbox_outbox o indexed by pillarbox_outbox_dispatched
             where o.status = 2 and o.dispatched_at <= :before
             order by o.dispatched_at limit :batch);
