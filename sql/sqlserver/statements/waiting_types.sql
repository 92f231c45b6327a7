-- The types of what waits, the most first, from at most 10 000 live rows.
EXEC dbo.JobOutboxWaitingTypes;
