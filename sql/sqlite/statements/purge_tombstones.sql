-- Removes the oldest tombstones, a batch of them.
--   :before   discarded then or earlier
--   :batch    at most so many
-- Index: pillarbox_dead_letter_discarded_at, oldest first, no sort. Locks: the writer.
delete from pillarbox_dead_letter
where (outbox_id, life) in (select d.outbox_id, d.life
                            from pillarbox_dead_letter d indexed by pillarbox_dead_letter_discarded_at
                            where d.discarded_at is not null and d.discarded_at <= :before
                            order by d.discarded_at limit :batch);
