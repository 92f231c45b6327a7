-- Three roles that may do no more than they need. Not part of the numbered migrations: creating roles wants ALTER ANY ROLE.
-- `pillarbox migrate --roles` runs it; it can run twice.
--
--   pillarbox_producer  may enqueue and use the inbox, and read or change nothing
--   pillarbox_relay     may claim, settle and operate
--   pillarbox_viewer    may look, without payloads
--
-- Procedures and tables have one owner, so that EXECUTE on a procedure is enough to do what it does, and no more.
IF DATABASE_PRINCIPAL_ID(N'pillarbox_producer') IS NULL CREATE ROLE pillarbox_producer;
IF DATABASE_PRINCIPAL_ID(N'pillarbox_relay') IS NULL CREATE ROLE pillarbox_relay;
IF DATABASE_PRINCIPAL_ID(N'pillarbox_viewer') IS NULL CREATE ROLE pillarbox_viewer;
GO

GRANT EXECUTE ON dbo.JobOutboxEnqueue TO pillarbox_producer, pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxEnqueueMany TO pillarbox_producer, pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxEnqueueJson TO pillarbox_producer, pillarbox_relay;
GRANT EXECUTE ON TYPE::dbo.JobOutboxMessageList TO pillarbox_producer, pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxOnce TO pillarbox_producer, pillarbox_relay;

GRANT EXECUTE ON dbo.JobOutboxClaimBatch TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxRenew TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxSettle TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxSettleDispatched TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxMarkDispatched TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxMarkFailed TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxHeartbeat TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxGoodbye TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxBrakeSet TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxBrakeLift TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxReplay TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxDiscard TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxRelease TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxAskToDrain TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxPurgeDispatched TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxPurgeDead TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxPurgeTombstones TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxPurgeInbox TO pillarbox_relay;
GRANT EXECUTE ON dbo.JobOutboxPayload TO pillarbox_relay;

GRANT EXECUTE ON dbo.JobOutboxBrakes TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxClaimedInScope TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxAttempts TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxFind TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxRelays TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxWaitingTypes TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxDeadGroups TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxDeadLetters TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxList TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxOverview TO pillarbox_relay, pillarbox_viewer;
GRANT EXECUTE ON dbo.JobOutboxExamine TO pillarbox_relay, pillarbox_viewer;
GRANT SELECT ON dbo.JobOutboxMessages TO pillarbox_relay, pillarbox_viewer;
GRANT SELECT ON dbo.JobOutboxAudit TO pillarbox_relay, pillarbox_viewer;
GRANT SELECT ON dbo.JobOutboxSchemaMigration TO pillarbox_relay, pillarbox_viewer;
GO
