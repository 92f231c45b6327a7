-- All brakes.
EXEC dbo.JobOutboxBrakes;
