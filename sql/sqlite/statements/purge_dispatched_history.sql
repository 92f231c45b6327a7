-- The history of the messages that purge_dispatched.sql removes next, in the same transaction.
--   :before, :batch   as there
-- Index: pillarbox_outbox_dispatched, pillarbox_attempt_outbox_id. Locks: the writer.
delete from pillarbox_attempt
where outbox_id in (select o.id from pillarbox_outbox o indexed by pillarbox_outbox_dispatched
                    where o.status = 2 and o.dispatched_at <= :before
                    order by o.dispatched_at limit :batch);
