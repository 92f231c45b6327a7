-- The newest 10 000 dead letters, for grouping by cause.
EXEC dbo.JobOutboxDeadGroups;
