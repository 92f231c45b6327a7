-- What doctor wants to know of the server.
EXEC dbo.JobOutboxExamine;
