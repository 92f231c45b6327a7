-- Relays heard of in the last day, newest first.
EXEC dbo.JobOutboxRelays;
