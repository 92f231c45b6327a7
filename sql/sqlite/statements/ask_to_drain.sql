-- Asks a relay to end its work; it hears of it at its next heartbeat.
--   :claimed_by
-- Index: the primary key. Locks: the writer.
update pillarbox_relay set drain_asked = 1 where claimed_by = :claimed_by;
