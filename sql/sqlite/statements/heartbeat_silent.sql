-- Relays that were silent for a day are forgotten.
--   :now
-- Scans the table, which has one row for each relay. Locks: the writer.
delete from pillarbox_relay where heartbeat_at < :now - 86400000;
