// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

// Rules about what particular procedures promise.
public static partial class Rules
{
    private static IEnumerable<Finding> PurgesArePolite(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => NameOf(p).StartsWith("dbo.JobOutboxPurge")))
        {
            string words = procedure.Words();
            if (!words.Contains("SET DEADLOCK_PRIORITY LOW")) yield return file.At(procedure, "", "a purge may win a deadlock against a producer");
            if (!words.Contains("N'pbx:purge'") || !words.Contains("@LockTimeout = 0")) yield return file.At(procedure, "", "two purges may run at once");
            if (!words.Contains("IF @BatchSize > 2000 SET @BatchSize = 2000")) yield return file.At(procedure, "", "a batch may reach lock escalation");
            if (procedure.All<DeleteSpecification>().Where(d => RealTarget(d) is not null)
                .Any(d => d.TopRowFilter is null && !d.All<VariableTableReference>().Any() && !d.All<QuerySpecification>().Any(q => q.TopRowFilter is not null)))
                yield return file.At(procedure, "", "a DELETE without a bound");
        }
    }

    private static IEnumerable<Finding> ClaimsNeverWaitForKeys(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => NameOf(p) == "dbo.JobOutboxClaimBatch"))
        {
            foreach (ExecuteStatement call in Calls(procedure, "sys.sp_getapplock"))
                if (!call.Words().Contains("@LockTimeout = 0")) yield return file.At(call, "", "a claim waits for a key");
            if (Calls(procedure, "sys.sp_getapplock").Count == 0) yield return file.At(procedure, "", "a claim takes no lock of a key");
            if (Calls(procedure, "dbo.JobOutboxLockKeys").Count > 0) yield return file.At(procedure, "", "a claim waits for keys");
            // The head of a key must be seen also while it is locked; what is then taken must not be waited for.
            foreach (NamedTableReference table in procedure.All<NamedTableReference>().Where(t => HintsOf(t, catalog).Any(i => i.Name == "IX_JobOutbox_Keys")))
                if (!Hinted(table, TableHintKind.ReadUncommitted) || Hinted(table, TableHintKind.ReadPast)) yield return file.At(table, "", "the head of a key is looked for among rows that are not locked");
            foreach (NamedTableReference table in procedure.All<NamedTableReference>().Where(t => Hinted(t, TableHintKind.UpdLock) && !InUpdate(procedure, t)))
                if (!Hinted(table, TableHintKind.ReadPast)) yield return file.At(table, "", "a claim waits for a row");
        }
    }

    // Between a claim's look at a key and its commit nothing of the key may change: whoever changes it takes the key first.
    private static IEnumerable<Finding> KeyedWritesLockTheirKeys(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file))
        {
            string name = NameOf(procedure);
            if (name == "dbo.JobOutboxClaimBatch" || name.StartsWith("dbo.JobOutboxPurge")) continue;  // the first has a rule of its own; purges touch nothing live
            UpdateDeleteSpecificationBase? first = Changes(procedure, Outbox).FirstOrDefault();
            if (first is null) continue;
            ExecuteStatement? keys = Calls(procedure, "dbo.JobOutboxLockKeys").FirstOrDefault();
            if (keys is null || keys.FirstTokenIndex > first.FirstTokenIndex) yield return file.At(first, "", $"{name} changes messages without the locks of their keys");
        }
    }

    private static IEnumerable<Finding> ClaimsAnswerAfterTheCommit(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file).Where(p => p.All<CommitTransactionStatement>().Count > 0))
        {
            int begin = procedure.All<BeginTransactionStatement>().Min(b => b.FirstTokenIndex), commit = procedure.All<CommitTransactionStatement>().Max(c => c.FirstTokenIndex);
            foreach (SelectStatement select in procedure.All<SelectStatement>().Where(s => s.FirstTokenIndex > begin && s.FirstTokenIndex < commit))
            {
                bool assigns = select.QueryExpression is QuerySpecification q && q.SelectElements.All(e => e is SelectSetVariable);
                bool returns = WordsBetween(procedure, select.LastTokenIndex, Math.Min(select.LastTokenIndex + 8, procedure.LastTokenIndex)).Contains("RETURN");
                if (!assigns && !returns) yield return file.At(select, "", "answers while its locks are held: a slow client holds them");
            }
        }
    }

    private static IEnumerable<Finding> BrakesWaitForClaims(SqlFile file, Catalog catalog)
    {
        foreach (ProcedureStatementBody procedure in Procedures(file))
        {
            string name = NameOf(procedure), words = procedure.Words();
            if (name is "dbo.JobOutboxBrakeSet" or "dbo.JobOutboxBrakeLift" && !words.Contains("EXEC dbo.JobOutboxLock @Resource = N'pbx:claims';"))
                yield return file.At(procedure, "", "a brake does not wait for the claims that run");
            if (name != "dbo.JobOutboxClaimBatch") continue;
            int at = words.IndexOf("EXEC dbo.JobOutboxLock @Resource = N'pbx:claims', @Mode = 'Shared';", StringComparison.Ordinal);
            if (at < 0 || at > words.IndexOf("dbo.JobOutboxBrake AS", StringComparison.Ordinal)) yield return file.At(procedure, "", "a claim looks at the brakes before it holds off who sets one");
        }
    }

    private static IEnumerable<Finding> NoStarAndNoMerge(SqlFile file, Catalog catalog) =>
        file.Script.All<SelectStarExpression>().Select(s => file.At(s, "", "name the columns"))
            .Concat(file.Script.All<MergeSpecification>().Select(m => file.At(m, "", "MERGE takes no lock between its look and its insert")))
            .Concat(file.Script.All<NamedTableReference>().Where(t => Hinted(t, TableHintKind.NoLock)).Select(t => file.At(t, "", "say READUNCOMMITTED, and why")));

    // Whoever is interrupted runs the file once more.
    private static IEnumerable<Finding> MigrationsCanRunTwice(SqlFile file, Catalog catalog)
    {
        if (!file.IsMigration) yield break;
        foreach (TSqlBatch batch in file.Script!.Batches)
        {
            foreach (TSqlStatement statement in batch.Statements)
            {
                if (statement is CreateTableStatement or CreateIndexStatement or CreateTypeTableStatement or AlterTableAddTableElementStatement)
                    yield return file.At(statement, "", "fails when run twice: ask first whether it is there");
                if (statement is CreateProcedureStatement or CreateViewStatement) yield return file.At(statement, "", "fails when run twice: CREATE OR ALTER");
            }
        }
    }

    // On most editions a NOT NULL column is written into every row, under a lock that nobody passes.
    private static IEnumerable<Finding> NewColumnsMayBeNull(SqlFile file, Catalog catalog) =>
        from alter in file.Script.All<AlterTableAddTableElementStatement>()
        where file.IsMigration
        from column in alter.Definition.ColumnDefinitions
        where column.Constraints.OfType<NullableConstraintDefinition>().All(n => !n.Nullable)
        select file.At(column, "", $"{column.ColumnIdentifier.Value} is not declared NULL: adding it may write every row");

    private static readonly string[] Internal = ["dbo.JobOutboxLock", "dbo.JobOutboxLockKeys", "dbo.JobOutboxCheckMessage", "dbo.JobOutboxRefuseTransaction"];

    private static IEnumerable<Finding> RolesCoverEveryProcedure(SqlFile file, Catalog catalog)
    {
        if (file.Name != "sql/sqlserver/roles.sql") yield break;
        string words = file.Text;
        foreach (string name in catalog.Procedures.Keys.Where(n => n.StartsWith("dbo.JobOutbox")))
        {
            bool granted = words.Contains($"GRANT EXECUTE ON {name} TO ");
            if (granted == Internal.Contains(name)) yield return new Finding(file.Name, 1, 1, "", granted ? $"{name} is for us alone" : $"nobody may execute {name}");
        }
    }

    // ---- looking at fragments

    private static string NameOf(ProcedureStatementBody procedure) => procedure.ProcedureReference.Name.Dotted();

    private static IReadOnlyList<ProcedureStatementBody> Procedures(SqlFile file) => file.Script.All<ProcedureStatementBody>();

    private static string? Dotted(TableReference? table) => (table as NamedTableReference)?.SchemaObject.Dotted();

    private static bool Hinted(NamedTableReference table, TableHintKind kind) => table.TableHints.Any(h => h.HintKind == kind);

    private static IEnumerable<Index> HintsOf(NamedTableReference table, Catalog catalog) =>
        table.TableHints.OfType<IndexTableHint>().SelectMany(h => h.IndexValues)
            .Select(v => catalog.IndexOf(table.SchemaObject.Dotted(), v.Identifier?.Value ?? v.Value)).OfType<Index>();

    private static string Last(ScalarExpression expression) =>
        (expression as ColumnReferenceExpression)?.MultiPartIdentifier.Identifiers[^1].Value ?? expression.Words();

    private static string WordsBetween(TSqlFragment fragment, int from, int to) =>
        string.Concat(Enumerable.Range(from, Math.Max(0, to - from)).Select(i => fragment.ScriptTokenStream[i].Text));

    private static HashSet<string> Options(TSqlFragment root, bool isOn)
    {
        var found = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (PredicateSetStatement set in root.All<PredicateSetStatement>().Where(s => s.IsOn == isOn))
            found.UnionWith(set.Words().Trim(';')[3..].Replace(" ON", "").Replace(" OFF", "").Split(',', StringSplitOptions.TrimEntries));
        return found;
    }

    private static List<ExecuteStatement> Calls(TSqlFragment root, string name) =>
        root.All<ExecuteStatement>().Where(e => (e.ExecuteSpecification.ExecutableEntity as ExecutableProcedureReference)?.ProcedureReference.ProcedureReference.Name.Dotted() == name).ToList();

    // The table that a change really writes: its target may be an alias.
    private static string? RealTarget(DataModificationSpecification change)
    {
        if (change.Target is not NamedTableReference named) return null;
        if (named.SchemaObject.Identifiers.Count > 1) return named.SchemaObject.Dotted();
        FromClause? from = (change as UpdateDeleteSpecificationBase)?.FromClause;
        NamedTableReference? aliased = from.All<NamedTableReference>().FirstOrDefault(t => t.Alias?.Value == named.SchemaObject.BaseIdentifier.Value);
        if (aliased is not null) return aliased.SchemaObject.Dotted();
        QueryDerivedTable? derived = from.All<QueryDerivedTable>().FirstOrDefault(t => t.Alias?.Value == named.SchemaObject.BaseIdentifier.Value);
        return derived.All<NamedTableReference>().FirstOrDefault()?.SchemaObject.Dotted();
    }

    private static IEnumerable<UpdateDeleteSpecificationBase> Changes(TSqlFragment root, string table) =>
        root.All<UpdateDeleteSpecificationBase>().Where(c => RealTarget(c) == table);

    private static bool InUpdate(ProcedureStatementBody procedure, NamedTableReference table) =>
        procedure.All<UpdateSpecification>().Any(u => u.FirstTokenIndex <= table.FirstTokenIndex && table.LastTokenIndex <= u.LastTokenIndex);

    // What a change says of its rows: its WHERE and the ON of its joins.
    private static List<string> ConditionsOf(UpdateDeleteSpecificationBase change) =>
        [.. Catalog.Conditions(change.WhereClause?.SearchCondition),
         .. change.FromClause.All<QualifiedJoin>().SelectMany(j => Catalog.Conditions(j.SearchCondition))];

    // Each use of a table with hints: with what the query around it says.
    private static IEnumerable<(NamedTableReference, string, TSqlFragment, IReadOnlyList<string>)> Uses(SqlFile file)
    {
        foreach (QuerySpecification query in file.Script.All<QuerySpecification>().Where(q => q.FromClause is not null))
        {
            IReadOnlyList<string> said = [.. Catalog.Conditions(query.WhereClause?.SearchCondition), .. query.FromClause.All<QualifiedJoin>().SelectMany(j => Catalog.Conditions(j.SearchCondition))];
            foreach (NamedTableReference table in query.FromClause.All<NamedTableReference>().Where(t => t.TableHints.Count > 0 && !Deeper(query, t)))
                yield return (table, table.Alias?.Value ?? "", query, said);
        }
        foreach (UpdateDeleteSpecificationBase change in file.Script.All<UpdateDeleteSpecificationBase>().Where(c => c.FromClause is not null))
        {
            foreach (NamedTableReference table in change.FromClause.All<NamedTableReference>().Where(t => t.TableHints.Count > 0))
                if (!change.FromClause.All<QuerySpecification>().Any(q => Within(q, table))) yield return (table, table.Alias?.Value ?? "", change, ConditionsOf(change));
        }
    }

    private static bool Within(TSqlFragment outer, TSqlFragment inner) => outer.FirstTokenIndex <= inner.FirstTokenIndex && inner.LastTokenIndex <= outer.LastTokenIndex;

    private static bool Deeper(QuerySpecification query, NamedTableReference table) =>
        query.All<QuerySpecification>().Any(q => q != query && Within(q, table));
}
