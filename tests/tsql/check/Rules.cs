// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

// The traps of SQL Server that no parser sees, one rule each. docs/guides/sql-server.md says what each guards against.
public static partial class Rules
{
    public sealed record One(string Name, Func<SqlFile, Catalog, IEnumerable<Finding>> Find);

    public static IReadOnlyList<One> All { get; } =
    [
        new("readpast-reads-with-locks", ReadPastHasReadCommittedLock),
        new("hinted-filtered-index-fits", HintedIndexFits),
        new("top-follows-its-index", TopFollowsItsIndex),
        new("times-are-utc", TimesAreUtc),
        new("writes-are-fenced", WritesAreFenced),
        new("enqueue-cannot-raise-2627", EnqueueCannotRaise2627),
        new("catch-rolls-back-and-rethrows", CatchRollsBackAndRethrows),
        new("procedures-state-their-settings", ProceduresStateTheirSettings),
        new("filtered-indexes-get-their-set-options", FilteredIndexSetOptions),
        new("files-keep-quoted-identifiers", FilesKeepQuotedIdentifiers),
        new("readpast-refuses-snapshot", ReadPastRefusesSnapshot),
        new("transactions-are-ours-or-the-callers", TransactionsAreOursOrTheCallers),
        new("purges-are-polite", PurgesArePolite),
        new("claims-never-wait-for-keys", ClaimsNeverWaitForKeys),
        new("keyed-writes-lock-their-keys", KeyedWritesLockTheirKeys),
        new("claims-answer-after-the-commit", ClaimsAnswerAfterTheCommit),
        new("brakes-wait-for-claims", BrakesWaitForClaims),
        new("no-star-and-no-merge", NoStarAndNoMerge),
        new("migrations-can-run-twice", MigrationsCanRunTwice),
        new("new-columns-may-be-null", NewColumnsMayBeNull),
        new("roles-cover-every-procedure", RolesCoverEveryProcedure),
    ];

    private const string Outbox = "dbo.JobOutbox";

    // ---- locks and indexes

    // Under READ_COMMITTED_SNAPSHOT a read without it sees versions and takes no lock: READPAST then skips nothing.
    private static IEnumerable<Finding> ReadPastHasReadCommittedLock(SqlFile file, Catalog catalog) =>
        from table in file.Script.All<NamedTableReference>()
        where Hinted(table, TableHintKind.ReadPast) && !Hinted(table, TableHintKind.ReadCommittedLock)
        select file.At(table, "", "READPAST without READCOMMITTEDLOCK");

    // A hint of a filtered index whose condition the query does not imply is error 8622 at run time.
    private static IEnumerable<Finding> HintedIndexFits(SqlFile file, Catalog catalog)
    {
        foreach ((NamedTableReference table, string alias, TSqlFragment change, IReadOnlyList<string> conditions) in Uses(file))
        {
            foreach (Index index in HintsOf(table, catalog))
            {
                foreach (string missing in index.Filter.Except(conditions))
                    yield return file.At(table, "", $"{index.Name} holds only rows with {missing}, which the query does not say ({alias})");
            }
        }
    }

    // TOP with an order that is not the index's own would sort what lies before it, and lock it.
    private static IEnumerable<Finding> TopFollowsItsIndex(SqlFile file, Catalog catalog)
    {
        foreach (QuerySpecification query in file.Script.All<QuerySpecification>().Where(q => q.TopRowFilter is not null))
        {
            if (query.FromClause?.TableReferences is not [NamedTableReference table]) continue;
            foreach (Index index in HintsOf(table, catalog).Where(_ => query.OrderByClause is not null))
            {
                List<string> order = query.OrderByClause.OrderByElements.Select(e => Last(e.Expression)).ToList();
                int directions = query.OrderByClause.OrderByElements.Select(e => e.SortOrder == SortOrder.Descending).Distinct().Count();
                if (!index.Keys.Take(order.Count).SequenceEqual(order, StringComparer.OrdinalIgnoreCase) || directions > 1)
                    yield return file.At(query, "", $"ORDER BY {string.Join(", ", order)} is not the order of {index.Name} ({string.Join(", ", index.Keys)})");
            }
        }
    }

    // ---- times

    private static IEnumerable<Finding> TimesAreUtc(SqlFile file, Catalog catalog) =>
        file.Script.All<FunctionCall>()
            .Where(f => f.FunctionName.Value.ToUpperInvariant() is "GETDATE" or "GETUTCDATE" or "SYSDATETIME" or "SYSDATETIMEOFFSET")
            .Select(f => file.At(f, "", $"{f.FunctionName.Value}: times are SYSUTCDATETIME()"))
            .Concat(file.Script.All<ParameterlessCall>().Where(c => c.ParameterlessCallType == ParameterlessCallType.CurrentTimestamp)
                .Select(c => file.At(c, "", "CURRENT_TIMESTAMP is local time: times are SYSUTCDATETIME()")));

    // ---- ownership

    // A procedure that changes a row which may be claimed names its claim number; the relay's own also name its owner.
    private static IEnumerable<Finding> WritesAreFenced(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file))
        {
            foreach (UpdateDeleteSpecificationBase change in Changes(procedure, Outbox))
            {
                string said = string.Join(' ', ConditionsOf(change));
                bool nobodyHolds = new[] { "STATUS = 0", "STATUS = 2", "STATUS = 3", "STATUS IN ( 0 , 3 )" }.Any(c => ConditionsOf(change).Contains(c));
                bool claimed = ConditionsOf(change).Contains("STATUS = 1");
                bool numbered = said.Contains("CLAIMNO");
                bool byOperator = NameOf(procedure) == "dbo.JobOutboxRelease";
                if (!numbered && !nobodyHolds) yield return file.At(change, "", "changes a row that may be claimed and does not match its ClaimNo");
                if (claimed && !numbered) yield return file.At(change, "", "changes a claimed row and does not match its ClaimNo");
                if (claimed && !byOperator && !said.Contains("CLAIMEDBY = @CLAIMEDBY")) yield return file.At(change, "", "changes a claimed row and does not match its owner");
                if (!said.Contains("ID = ") && !said.Contains("ORDERINGKEY = ")) yield return file.At(change, "", "changes rows that it does not name");
            }
        }
    }

    // Whoever inserts a message that has a name takes the lock of that name first; nobody catches the error instead.
    private static IEnumerable<Finding> EnqueueCannotRaise2627(SqlFile file, Catalog catalog)
    {
        if (!file.IsOurs) yield break;
        foreach (ProcedureStatementBody procedure in Procedures(file))
        {
            InsertSpecification? insert = procedure.All<InsertSpecification>().FirstOrDefault(i => Dotted(i.Target) == Outbox);
            if (insert is null) continue;
            string before = WordsBetween(procedure, procedure.FirstTokenIndex, insert.FirstTokenIndex);
            if (!before.Contains("pbx:m:") || !before.Contains("EXEC dbo.JobOutboxLock")) yield return file.At(insert, "", "inserts a message without the lock of its MessageId");
            if (!before.Contains("READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId)") && !insert.Words().Contains("READCOMMITTEDLOCK, INDEX (UX_JobOutbox_MessageId)"))
                yield return file.At(insert, "", "inserts a message without looking for its MessageId");
        }
        foreach (FunctionCall call in file.Script.All<FunctionCall>().Where(f => f.FunctionName.Value.Is("ERROR_NUMBER")))
            yield return file.At(call, "", "an error that is caught has doomed a caller with XACT_ABORT ON: do not raise it");
    }

    // ---- procedures

    private static IEnumerable<Finding> CatchRollsBackAndRethrows(SqlFile file, Catalog catalog)
    {
        foreach (TryCatchStatement block in file.Script.All<TryCatchStatement>())
        {
            IList<TSqlStatement> all = block.CatchStatements.Statements;
            if (all.LastOrDefault() is not ThrowStatement { ErrorNumber: null }) yield return file.At(block, "", "CATCH does not end with THROW: the error is swallowed");
            bool guarded = all.OfType<IfStatement>().Any(i => i.ThenStatement.All<RollbackTransactionStatement>().Count > 0
                && (i.Predicate.Words().Contains("XACT_STATE()") || i.Predicate.Words().Contains("@@TRANCOUNT")));
            if (block.TryStatements.All<BeginTransactionStatement>().Count > 0 && !guarded)
                yield return file.At(block, "", "CATCH does not roll back when XACT_STATE() <> 0");
        }
    }

    private static IEnumerable<Finding> ProceduresStateTheirSettings(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file))
        {
            string name = NameOf(procedure);
            HashSet<string> on = Options(procedure, true);
            foreach (string option in new[] { "NOCOUNT", "XACT_ABORT" }.Where(o => !on.Contains(o))) yield return file.At(procedure, "", $"{name} does not SET {option} ON");
            SetTransactionIsolationLevelStatement? level = procedure.All<SetTransactionIsolationLevelStatement>().FirstOrDefault();
            if (level is null)
            {
                if (!WordsBetween(procedure, procedure.FirstTokenIndex, procedure.LastTokenIndex).Contains("-- pbx: keeps the isolation level of its caller"))
                    yield return file.At(procedure, "", $"{name} runs under whatever isolation level a pooled session brings");
                continue;
            }
            if (level.Level is not (IsolationLevel.ReadCommitted or IsolationLevel.ReadUncommitted)) yield return file.At(level, "", $"{name} chooses {level.Level}");
            bool writes = procedure.All<DataModificationSpecification>().Any(c => Dotted(c.Target)?.StartsWith("dbo.") ?? true);
            if (level.Level == IsolationLevel.ReadUncommitted && writes && procedure.All<DataModificationSpecification>().Any(c => RealTarget(c) is not null))
                yield return file.At(level, "", $"{name} writes under READ UNCOMMITTED");
            int first = procedure.All<NamedTableReference>().Where(t => t.SchemaObject.Identifiers.Count > 1).Select(t => t.FirstTokenIndex).DefaultIfEmpty(int.MaxValue).Min();
            if (first < level.FirstTokenIndex) yield return file.At(level, "", $"{name} reads a table before it states its isolation level");
        }
    }

    // SQL Server refuses (1934) writes to a table with filtered indexes, and their use, from sessions without these.
    private static IEnumerable<Finding> FilteredIndexSetOptions(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => file.IsOurs))
        {
            bool writes = procedure.All<DataModificationSpecification>().Any(c => RealTarget(c) is Outbox or "dbo.JobOutboxDeadLetter");
            bool reads = procedure.All<NamedTableReference>().Any(t => HintsOf(t, catalog).Any(i => i.Filter.Count > 0));
            if (!writes && !reads) continue;
            HashSet<string> on = Options(procedure, true), off = Options(procedure, false);
            foreach (string option in new[] { "ANSI_PADDING", "ANSI_WARNINGS", "ARITHABORT", "CONCAT_NULL_YIELDS_NULL" }.Where(o => !on.Contains(o)))
                yield return file.At(procedure, "", $"{NameOf(procedure)} does not SET {option} ON");
            if (!off.Contains("NUMERIC_ROUNDABORT")) yield return file.At(procedure, "", $"{NameOf(procedure)} does not SET NUMERIC_ROUNDABORT OFF");
        }
    }

    private static IEnumerable<Finding> FilesKeepQuotedIdentifiers(SqlFile file, Catalog catalog)
    {
        if (!file.IsMigration) yield break;
        HashSet<string> on = Options(file.Script!.Batches[0], true);
        foreach (string option in new[] { "ANSI_NULLS", "QUOTED_IDENTIFIER" }.Where(o => !on.Contains(o)))
            yield return new Finding(file.Name, 1, 1, "", $"the first batch does not SET {option} ON, which procedures keep from here");
    }

    private static IEnumerable<Finding> ReadPastRefusesSnapshot(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => p.All<NamedTableReference>().Any(t => Hinted(t, TableHintKind.ReadPast))))
        {
            if (NameOf(procedure) == "dbo.JobOutboxHeartbeat") continue;  // its own table, its own statement: no transaction to inherit
            ExecuteStatement? refusal = Calls(procedure, "dbo.JobOutboxRefuseTransaction").FirstOrDefault();
            SetTransactionIsolationLevelStatement? level = procedure.All<SetTransactionIsolationLevelStatement>().FirstOrDefault();
            if (refusal is null) yield return file.At(procedure, "", $"{NameOf(procedure)} uses READPAST and does not refuse a SNAPSHOT transaction (650)");
            else if (level is not null && level.FirstTokenIndex < refusal.FirstTokenIndex) yield return file.At(refusal, "", "looks at the isolation level after having changed it");
        }
    }

    private static IEnumerable<Finding> TransactionsAreOursOrTheCallers(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => file.IsOurs))
        {
            foreach (BeginTransactionStatement begin in procedure.All<BeginTransactionStatement>())
            {
                bool refuses = Calls(procedure, "dbo.JobOutboxRefuseTransaction").Any(c => c.Words().TrimEnd(';').EndsWith("@Any = 1"));
                bool guarded = procedure.All<IfStatement>().Any(i => i.Predicate.Words() == "@@TRANCOUNT = 0" && i.ThenStatement.All<BeginTransactionStatement>().Contains(begin));
                if (!refuses && !guarded) yield return file.At(begin, "", "begins a transaction inside a caller's: a COMMIT of ours would not be one");
                bool ends = procedure.All<CommitTransactionStatement>().Count > 0;
                if (!ends) yield return file.At(begin, "", "no COMMIT");
            }
        }
    }
}
