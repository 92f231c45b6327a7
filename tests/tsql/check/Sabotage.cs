// SPDX-License-Identifier: Apache-2.0
namespace Pillarbox.Tsql;

// One guard taken away, in a copy in memory; the rule that must see it. A line that is not found any more fails too.
public sealed record Sabotage(string What, string File, string Old, string New, string Rule)
{
    private const string Producers = "sql/sqlserver/002_producers.sql", Relay = "sql/sqlserver/003_relay.sql", Operators = "sql/sqlserver/004_operators.sql";
    private const string Tables = "sql/sqlserver/001_outbox.sql", Example = "examples/sql/sqlserver/partner_document_attach.sql";

    public static IReadOnlyList<Sabotage> All { get; } =
    [
        new("a misspelt keyword", Relay, "BEGIN TRANSACTION;", "BEGIN TRANSACTON;", NameCheck.Rule),
        new("a column that is not there", Relay, "SET Status = 2, DispatchedUtc", "SET Status = 2, DispatchedAt", NameCheck.Rule),
        new("a column of another alias", Relay, "o.LockedUntil < @Now)", "c.LockedUntil < @Now)", NameCheck.Rule),
        new("a table that is not there", Operators, "FROM dbo.JobOutboxRelay AS r", "FROM dbo.JobOutboxRelays AS r", NameCheck.Rule),
        new("a procedure that is not there", Relay, "EXEC dbo.JobOutboxLockKeys", "EXEC dbo.JobOutboxKeysLock", NameCheck.Rule),
        new("a parameter that is not there", "sql/sqlserver/statements/renew.sql", "@Leases = @Leases", "@Lease = @Leases", NameCheck.Rule),
        new("a parameter left out", "sql/sqlserver/statements/renew.sql", ", @LeaseMs = @LeaseMs;", ";", NameCheck.Rule),
        new("a variable that nobody declares", Producers, "SET @Moment = SYSUTCDATETIME();", "SET @Instant = SYSUTCDATETIME();", NameCheck.Rule),
        new("an index that is not there", Relay, "INDEX (IX_JobOutbox_Unprocessed)", "INDEX (IX_JobOutbox_Pending)", NameCheck.Rule),
        new("a type that is not there", Producers, "DECLARE @List dbo.JobOutboxMessageList", "DECLARE @List dbo.JobOutboxMessages2", NameCheck.Rule),
        new("a function of a newer server", Relay, "ISNULL(DATALENGTH(o.Payload), DATALENGTH(o.PayloadJson))", "GREATEST(DATALENGTH(o.Payload), DATALENGTH(o.PayloadJson))", NameCheck.Rule),
        new("a value too few", Producers, "VALUES (@Consumer, @MessageId)", "VALUES (@Consumer)", NameCheck.Rule),
        new("a column that drift does not know", Tables, "ADD ExpiresUtc DATETIME2(3) NULL", "ADD ExpiryUtc DATETIME2(3) NULL", "expected-items-agree"),
        new("READPAST without READCOMMITTEDLOCK", Relay, "(ROWLOCK, READPAST, UPDLOCK, READCOMMITTEDLOCK, INDEX (IX_JobOutbox_Unprocessed))", "(ROWLOCK, READPAST, UPDLOCK, INDEX (IX_JobOutbox_Unprocessed))", "readpast-reads-with-locks"),
        new("a query that its filtered index does not fit", Relay, "WHERE o.Status <= 1 AND o.OrderingKey IS NULL\n      AND o.AvailableUtc >", "WHERE o.OrderingKey IS NULL\n      AND o.AvailableUtc >", "hinted-filtered-index-fits"),
        new("the article's order over the new index", Relay, "ORDER BY o.AvailableUtc, o.Id", "ORDER BY o.Id", "top-follows-its-index"),
        new("the article's index", Tables, "ON dbo.JobOutbox (AvailableUtc, Id)", "ON dbo.JobOutbox (Id)", "top-follows-its-index"),
        new("local time", Relay, "SET @Now = SYSUTCDATETIME();", "SET @Now = GETDATE();", "times-are-utc"),
        new("local time by its standard name", Producers, "SET @Moment = SYSUTCDATETIME();", "SET @Moment = CURRENT_TIMESTAMP;", "times-are-utc"),
        new("a settle without the claim number", Relay, "WHERE s.Kind = 2 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy AND o.ClaimNo = s.ClaimNo", "WHERE s.Kind = 2 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy", "writes-are-fenced"),
        new("a settle without the owner", Relay, "WHERE s.Kind = 2 AND o.Status = 1 AND o.ClaimedBy = @ClaimedBy", "WHERE s.Kind = 2 AND o.Status = 1", "writes-are-fenced"),
        new("a replay of whatever claim", Operators, "WHERE o.Status = 3 AND ISNULL(o.ClaimNo, 0) = g.ClaimNo", "WHERE o.Status >= 1", "writes-are-fenced"),
        new("an enqueue that does not lock the name", Producers, "SET @Resource = CONCAT(N'pbx:m:', @MessageId);\n    EXEC dbo.JobOutboxLock @Resource = @Resource;", "SET @Resource = NULL;", "enqueue-cannot-raise-2627"),
        new("an enqueue for many that does not look", Producers, "FROM dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId))\n                      WHERE", "FROM dbo.JobOutbox AS o WITH (READCOMMITTEDLOCK)\n                      WHERE", "enqueue-cannot-raise-2627"),
        new("a CATCH that swallows", Example, "    THROW;\nEND CATCH;", "    RETURN;\nEND CATCH;", "catch-rolls-back-and-rethrows"),
        new("a CATCH that does not roll back", Example, "    IF XACT_STATE() <> 0 ROLLBACK TRANSACTION;\n", "", "catch-rolls-back-and-rethrows"),
        new("a procedure without an isolation level", Producers, "SET NUMERIC_ROUNDABORT OFF;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDECLARE @Ours BIT = 0, @Moment", "SET NUMERIC_ROUNDABORT OFF;\nDECLARE @Ours BIT = 0, @Moment", "procedures-state-their-settings"),
        new("a claim under SNAPSHOT", Relay, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDECLARE @Barred", "SET TRANSACTION ISOLATION LEVEL SNAPSHOT;\nDECLARE @Barred", "procedures-state-their-settings"),
        new("a procedure without XACT_ABORT", Relay, "SET NOCOUNT, XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDELETE r FROM", "SET NOCOUNT ON;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDELETE r FROM", "procedures-state-their-settings"),
        new("an enqueue for DB-Library sessions only by luck", Producers, "SET NOCOUNT, XACT_ABORT, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;\nSET NUMERIC_ROUNDABORT OFF;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDECLARE @Ours BIT = 0, @Moment DATETIME2(3), @Resource NVARCHAR(255);", "SET NOCOUNT, XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nDECLARE @Ours BIT = 0, @Moment DATETIME2(3), @Resource NVARCHAR(255);", "filtered-indexes-get-their-set-options"),
        new("procedures made without QUOTED_IDENTIFIER", Relay, "SET ANSI_NULLS, QUOTED_IDENTIFIER ON;", "SET ANSI_NULLS ON;", "files-keep-quoted-identifiers"),
        new("a settle that takes SNAPSHOT", Relay, "EXEC dbo.JobOutboxRefuseTransaction @Any = 0;\n", "", "readpast-refuses-snapshot"),
        new("a claim inside a caller's transaction", Relay, "EXEC dbo.JobOutboxRefuseTransaction @Any = 1;\n", "EXEC dbo.JobOutboxRefuseTransaction @Any = 0;\n", "transactions-are-ours-or-the-callers"),
        new("a purge that wins deadlocks", Operators, "SET DEADLOCK_PRIORITY LOW;", "SET DEADLOCK_PRIORITY NORMAL;", "purges-are-polite"),
        new("a purge of ten thousand", Operators, "IF @BatchSize > 2000 SET @BatchSize = 2000;", "", "purges-are-polite"),
        new("a purge without a bound", Operators, "DELETE TOP (@BatchSize) i", "DELETE i", "purges-are-polite"),
        new("a claim that waits for a key", Relay, "@LockOwner = 'Transaction', @LockTimeout = 0;", "@LockOwner = 'Transaction';", "claims-never-wait-for-keys"),
        new("a head that is looked for past locked rows", Relay, "WITH (READUNCOMMITTED, INDEX (IX_JobOutbox_Keys), FORCESEEK)\n    WHERE", "WITH (READPAST, READCOMMITTEDLOCK, INDEX (IX_JobOutbox_Keys), FORCESEEK)\n    WHERE", "claims-never-wait-for-keys"),
        new("a replay beside a claim of its key", Operators, "EXEC dbo.JobOutboxLockKeys @Leases = @Targets;\n", "", "keyed-writes-lock-their-keys"),
        new("a settle beside a claim of its key", Relay, "EXEC dbo.JobOutboxLockKeys @Leases = @Settlements;\n", "", "keyed-writes-lock-their-keys"),
        new("a claim that answers before it commits", Relay, "OPTION (MAXDOP 1);\nCOMMIT TRANSACTION;\n\n-- Sent after", "OPTION (MAXDOP 1);\nSELECT o.Id FROM dbo.JobOutbox AS o;\nCOMMIT TRANSACTION;\n\n-- Sent after", "claims-answer-after-the-commit"),
        new("a brake that does not wait", Operators, "EXEC dbo.JobOutboxLock @Resource = N'pbx:claims';\n", "", "brakes-wait-for-claims"),
        new("a claim that looks at brakes too early", Relay, "EXEC dbo.JobOutboxLock @Resource = N'pbx:claims', @Mode = 'Shared';\n", "", "brakes-wait-for-claims"),
        new("a star", "sql/sqlserver/statements/migrations.sql", "SELECT m.Number, m.Name, m.Checksum", "SELECT *", "no-star-and-no-merge"),
        new("a table made twice", Tables, "IF OBJECT_ID(N'dbo.JobOutboxAudit', N'U') IS NULL\n", "", "migrations-can-run-twice"),
        new("a column that rewrites the table", Tables, "ADD ClaimNo BIGINT NULL", "ADD ClaimNo BIGINT NOT NULL", "new-columns-may-be-null"),
        new("a procedure that nobody may execute", "sql/sqlserver/roles.sql", "GRANT EXECUTE ON dbo.JobOutboxRenew TO pillarbox_relay;\n", "", "roles-cover-every-procedure"),
        new("an internal procedure in strangers' hands", "sql/sqlserver/roles.sql", "GRANT EXECUTE ON dbo.JobOutboxRenew TO", "GRANT EXECUTE ON dbo.JobOutboxLock TO pillarbox_producer;\nGRANT EXECUTE ON dbo.JobOutboxRenew TO", "roles-cover-every-procedure"),
        new("a statement under a name of its own", "sql/sqlserver/statements/claim.sql", "", "", "statements-are-named-as-elsewhere"),
    ];

    // What must be printed when nobody noticed.
    public IEnumerable<string> Unnoticed(IReadOnlyDictionary<string, string> texts, Suite suite)
    {
        var copy = new SortedDictionary<string, string>(texts.ToDictionary(t => t.Key, t => t.Value), StringComparer.Ordinal);
        if (Rule == "statements-are-named-as-elsewhere")
        {
            copy["sql/sqlserver/statements/grab.sql"] = copy[File];
        }
        else if (!copy[File].Contains(Old))
        {
            yield return $"{File} does not hold: {Old}";
            yield break;
        }
        else
        {
            copy[File] = copy[File].Replace(Old, New);
        }
        // What is wrong without it, by its text, proves nothing: line numbers may move.
        HashSet<string> before = suite.Findings.Where(f => f.Rule == Rule).Select(f => f.File + f.Text).ToHashSet();
        if (Suite.Of(copy).Findings.Where(f => f.Rule == Rule).All(f => before.Contains(f.File + f.Text))) yield return $"{Rule} says nothing";
    }
}
