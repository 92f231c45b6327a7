-- What waits, why, and how old it is.
EXEC dbo.JobOutboxOverview;
