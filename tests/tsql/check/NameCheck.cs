// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

// Resolves every name of one batch: tables, columns, variables, types, procedures and their parameters, functions, index
// hints. The parser alone accepts a name that is nowhere.
public sealed class NameCheck : TSqlFragmentVisitor
{
    public const string Rule = "names-resolve";

    private static readonly StringComparer Names = StringComparer.OrdinalIgnoreCase;
    private static readonly HashSet<string> SystemTables = new(Names)
    {
        "sys.indexes", "sys.index_columns", "sys.columns", "sys.tables", "sys.objects", "sys.databases", "sys.partitions", "sys.dm_exec_sessions",
    };
    private static readonly HashSet<string> SystemProcedures = new(Names) { "sys.sp_getapplock", "sys.sp_releaseapplock" };
    private static readonly HashSet<string> Functions = new(Names)
    {
        "CHARINDEX", "COL_LENGTH", "CONCAT", "COUNT", "COUNT_BIG", "DATABASE_PRINCIPAL_ID", "DATABASEPROPERTYEX", "DATALENGTH", "DATEADD",
        "DATEDIFF_BIG", "DB_ID", "DB_NAME", "HAS_PERMS_BY_NAME", "ISJSON", "ISNULL", "JSON_QUERY", "JSON_VALUE", "LEN", "LOWER", "LTRIM", "MAX",
        "MIN", "NCHAR", "NEWID", "OBJECT_ID", "ORIGINAL_LOGIN", "REPLACE", "RTRIM", "SCHEMA_ID", "SCOPE_IDENTITY", "SERVERPROPERTY", "STRING_AGG",
        "SUBSTRING", "SUM", "SYSUTCDATETIME", "TRIM", "TYPE_ID", "TYPE_NAME", "XACT_STATE", "VALUE",
    };
    private static readonly HashSet<string> DateFunctions = new(Names) { "DATEADD", "DATEDIFF", "DATEDIFF_BIG", "DATEPART" };

    private readonly SqlFile file_;
    private readonly Catalog catalog_;
    private readonly Stack<Scope> scopes_ = new();
    private readonly HashSet<string> variables_ = new(Names);
    private readonly Dictionary<string, HashSet<string>> tableVariables_ = new(Names);
    private readonly Dictionary<string, HashSet<string>> ctes_ = new(Names);

    public List<Finding> Findings { get; } = [];

    private NameCheck(SqlFile file, Catalog catalog)
    {
        file_ = file;
        catalog_ = catalog;
    }

    public static IEnumerable<Finding> Of(SqlFile file, Catalog catalog)
    {
        if (file.Script is null) yield break;
        foreach (TSqlBatch batch in file.Script.Batches)
        {
            var check = new NameCheck(file, catalog);
            check.Declare(batch);
            batch.Accept(check);
            foreach (Finding finding in check.Findings) yield return finding;
        }
        foreach (string name in file.Given.Keys.Where(n => !file.Script.All<VariableReference>().Any(v => v.Name.Is(n))))
            yield return new Finding(file.Name, 1, 1, Rule, $"{name} is declared in the head and used nowhere");
    }

    private void Say(TSqlFragment at, string text) => Findings.Add(file_.At(at, Rule, text));

    private void Declare(TSqlBatch batch)
    {
        variables_.UnionWith(file_.Given.Keys);
        foreach (DeclareVariableElement one in batch.All<DeclareVariableElement>())  // parameters are such elements too
        {
            variables_.Add(one.VariableName.Value);
            if (one.DataType is UserDataTypeReference type && catalog_.TableTypes.TryGetValue(type.Name.Dotted(), out var columns))
                tableVariables_[one.VariableName.Value] = [.. columns.Keys];
        }
        foreach (DeclareTableVariableBody table in batch.All<DeclareTableVariableBody>())
        {
            variables_.Add(table.VariableName.Value);
            tableVariables_[table.VariableName.Value] = new HashSet<string>(Catalog.Columns(table.Definition).Keys, Names);
        }
        foreach (CommonTableExpression cte in batch.All<CommonTableExpression>())
            ctes_[cte.ExpressionName.Value] = new HashSet<string>(Scope.ColumnsOf(cte.QueryExpression), Names);
    }

    // ---- scopes

    private void In(Scope scope, Action visit)
    {
        scopes_.Push(scope);
        visit();
        scopes_.Pop();
    }

    public override void ExplicitVisit(QuerySpecification query)
    {
        var scope = new Scope();
        AddSources(scope, query.FromClause);
        scope.Outputs.UnionWith(Scope.ColumnsOf(query));
        In(scope, () => base.ExplicitVisit(query));
    }

    public override void ExplicitVisit(UpdateSpecification update)
    {
        Scope scope = ChangeScope(update);
        HashSet<string>? target = TargetColumns(update, scope);
        foreach (AssignmentSetClause set in update.SetClauses.OfType<AssignmentSetClause>().Where(s => s.Column is not null)) Has(target, set.Column);
        In(scope, () =>
        {
            foreach (AssignmentSetClause set in update.SetClauses.OfType<AssignmentSetClause>()) set.NewValue.Accept(this);
            VisitChange(update);
            update.FromClause?.Accept(this);
            update.WhereClause?.Accept(this);
        });
    }

    public override void ExplicitVisit(DeleteSpecification delete) => In(ChangeScope(delete), () =>
    {
        VisitChange(delete);
        delete.FromClause?.Accept(this);
        delete.WhereClause?.Accept(this);
    });

    public override void ExplicitVisit(InsertSpecification insert)
    {
        HashSet<string>? target = ColumnsOf(insert.Target);
        foreach (ColumnReferenceExpression column in insert.Columns) Has(target, column);
        if (insert.Columns.Count == 0) Say(insert, "INSERT without a list of columns");
        IEnumerable<int> counts = insert.InsertSource switch
        {
            ValuesInsertSource values => values.RowValues.Select(r => r.ColumnValues.Count),
            SelectInsertSource { Select: QuerySpecification q } => [q.SelectElements.Count],
            _ => [],
        };
        foreach (int count in counts.Where(c => c != insert.Columns.Count)) Say(insert, $"INSERT names {insert.Columns.Count} columns and gives {count} values");
        var scope = new Scope();
        scope.Sources.Add(new Source("inserted", target));
        In(scope, () =>
        {
            VisitChange(insert);
            insert.InsertSource.Accept(this);
        });
    }

    private void VisitChange(DataModificationSpecification change)
    {
        change.Target.Accept(this);
        change.TopRowFilter?.Accept(this);
        if (change.OutputIntoClause is not { } output) return;
        foreach (SelectElement element in output.SelectColumns) element.Accept(this);
        HashSet<string>? into = ColumnsOf(output.IntoTable);
        foreach (ColumnReferenceExpression column in output.IntoTableColumns) Has(into, column);
        if (output.IntoTableColumns.Count != output.SelectColumns.Count) Say(output, "OUTPUT gives another number of values than INTO names columns");
    }

    private Scope ChangeScope(UpdateDeleteSpecificationBase change)
    {
        var scope = new Scope();
        AddSources(scope, change.FromClause);
        HashSet<string>? target = TargetColumns(change, scope);
        if (change.FromClause is null) scope.Sources.Add(new Source("", target));
        scope.Sources.Add(new Source("inserted", target) { });
        scope.Sources.Add(new Source("deleted", target));
        return scope;
    }

    private HashSet<string>? TargetColumns(UpdateDeleteSpecificationBase change, Scope scope)
    {
        if (change.Target is NamedTableReference { SchemaObject.Identifiers.Count: 1 } named)
        {
            string alias = named.SchemaObject.BaseIdentifier.Value;
            if (scope.Sources.FirstOrDefault(s => s.Alias.Is(alias)) is { } source) return source.Columns;
            if (!ctes_.ContainsKey(alias)) Say(named, $"{alias} is no alias of this statement");
        }
        return ColumnsOf(change.Target);
    }

    // Definitions see their own columns.
    public override void ExplicitVisit(CreateTableStatement table) => Define(table.Definition, () => base.ExplicitVisit(table));
    public override void ExplicitVisit(CreateTypeTableStatement type) => Define(type.Definition, () => base.ExplicitVisit(type));
    public override void ExplicitVisit(DeclareTableVariableBody table) => Define(table.Definition, () => base.ExplicitVisit(table));
    public override void ExplicitVisit(CreateIndexStatement index) => OnTable(index.OnName, index, () => base.ExplicitVisit(index));
    public override void ExplicitVisit(AlterTableAddTableElementStatement alter) => OnTable(alter.SchemaObjectName, alter, () => base.ExplicitVisit(alter));

    private void Define(TableDefinition definition, Action visit)
    {
        var scope = new Scope();
        scope.Sources.Add(new Source("", new HashSet<string>(Catalog.Columns(definition).Keys, Names)));
        In(scope, visit);
    }

    private void OnTable(SchemaObjectName name, TSqlFragment at, Action visit)
    {
        var scope = new Scope();
        if (!catalog_.Tables.TryGetValue(name.Dotted(), out var columns)) Say(at, $"there is no table {name.Dotted()}");
        scope.Sources.Add(new Source("", columns is null ? null : new HashSet<string>(columns.Keys, Names)));
        In(scope, visit);
    }

    // ---- sources

    private void AddSources(Scope scope, FromClause? from)
    {
        foreach (TableReference reference in from?.TableReferences ?? []) AddSource(scope, reference);
    }

    private void AddSource(Scope scope, TableReference reference)
    {
        switch (reference)
        {
            case JoinTableReference join:
                AddSource(scope, join.FirstTableReference);
                AddSource(scope, join.SecondTableReference);
                break;
            case JoinParenthesisTableReference inner:
                AddSource(scope, inner.Join);
                break;
            case TableReferenceWithAlias one:
                string alias = one.Alias?.Value ?? (one as NamedTableReference)?.SchemaObject.BaseIdentifier.Value ?? (one as VariableTableReference)?.Variable.Name ?? "";
                if (scope.Sources.Any(s => s.Alias.Is(alias))) Say(one, $"alias {alias} stands twice");
                scope.Sources.Add(new Source(alias, ColumnsOf(one)));
                break;
        }
    }

    private HashSet<string>? ColumnsOf(TableReference reference)
    {
        switch (reference)
        {
            case NamedTableReference named when named.SchemaObject.Identifiers.Count == 1:
                return ctes_.GetValueOrDefault(named.SchemaObject.BaseIdentifier.Value);
            case NamedTableReference named:
                string name = named.SchemaObject.Dotted();
                if (SystemTables.Contains(name)) return null;
                if (catalog_.Tables.TryGetValue(name, out var columns)) return new HashSet<string>(columns.Keys, Names);
                Say(named, $"there is no table or view {name}");
                return null;
            case VariableTableReference variable:
                if (tableVariables_.TryGetValue(variable.Variable.Name, out HashSet<string>? found)) return found;
                Say(variable, $"{variable.Variable.Name} is no table");
                return null;
            case OpenJsonTableReference json:
                return json.SchemaDeclarationItems.Count == 0
                    ? new HashSet<string>(Names) { "key", "value", "type" }
                    : new HashSet<string>(json.SchemaDeclarationItems.Select(i => i.ColumnDefinition.ColumnIdentifier.Value), Names);
            case QueryDerivedTable derived:
                return new HashSet<string>(derived.Columns.Count > 0 ? derived.Columns.Select(c => c.Value) : Scope.ColumnsOf(derived.QueryExpression), Names);
            case InlineDerivedTable inline:
                return new HashSet<string>(inline.Columns.Select(c => c.Value), Names);
            default:
                Say(reference, $"a source of an unknown kind: {reference.GetType().Name}");
                return null;
        }
    }

    // ---- uses

    private void Has(HashSet<string>? columns, ColumnReferenceExpression column)
    {
        string name = column.MultiPartIdentifier.Identifiers[^1].Value;
        if (columns is not null && !columns.Contains(name)) Say(column, $"there is no column {name} here");
    }

    public override void ExplicitVisit(ColumnReferenceExpression column)
    {
        if (column.ColumnType != ColumnType.Regular) return;
        IList<Identifier> parts = column.MultiPartIdentifier.Identifiers;
        if (parts.Count == 2)
        {
            Source? source = scopes_.SelectMany(s => s.Sources).FirstOrDefault(s => s.Alias.Is(parts[0].Value));
            if (source is null) Say(column, $"{parts[0].Value} is no alias here");
            else Has(source.Columns, column);
            return;
        }
        foreach (Scope scope in scopes_)
        {
            int found = scope.Sources.Count(s => !s.Alias.Is("inserted") && !s.Alias.Is("deleted") && (s.Columns?.Contains(parts[0].Value) ?? true));
            if (found > 1) Say(column, $"{parts[0].Value} is ambiguous; say of which table");
            if (found > 0 || scope.Outputs.Contains(parts[0].Value)) return;
        }
        Say(column, $"there is no column {parts[0].Value} here");
    }

    public override void ExplicitVisit(FunctionCall call)
    {
        string name = call.FunctionName.Value;
        if (!Functions.Contains(name)) Say(call, $"function {name} is not on the list of those that 2019 has (NameCheck.cs)");
        call.CallTarget?.Accept(this);
        foreach (ScalarExpression argument in call.Parameters.Skip(DateFunctions.Contains(name) ? 1 : 0)) argument.Accept(this);
        call.OverClause?.Accept(this);
        call.WithinGroupClause?.Accept(this);
    }

    public override void ExplicitVisit(VariableReference variable)
    {
        if (!variables_.Contains(variable.Name)) Say(variable, $"{variable.Name} is not declared");
    }

    public override void ExplicitVisit(UserDataTypeReference type)
    {
        string name = type.Name.Dotted();
        if (!catalog_.TableTypes.ContainsKey(name) && !name.Is("SYSNAME")) Say(type, $"there is no type {name}");
    }

    public override void ExplicitVisit(NamedTableReference table)
    {
        string name = table.SchemaObject.Dotted();
        foreach (IndexTableHint hint in table.TableHints.OfType<IndexTableHint>())
        {
            foreach (string index in hint.IndexValues.Select(v => v.Identifier?.Value ?? v.Value))
                if (catalog_.IndexOf(name, index) is null) Say(hint, $"there is no index {index} on {name}");
        }
    }

    public override void ExplicitVisit(ExecuteSpecification execute)
    {
        if (execute.Variable is not null) execute.Variable.Accept(this);
        if (execute.ExecutableEntity is not ExecutableProcedureReference call)
        {
            execute.ExecutableEntity.Accept(this);
            return;
        }
        string name = call.ProcedureReference.ProcedureReference.Name.Dotted();
        foreach (ExecuteParameter given in call.Parameters) given.ParameterValue.Accept(this);
        foreach (ExecuteParameter given in call.Parameters.Where(p => p.Variable is null)) Say(given, $"{name}: name the parameter");
        if (SystemProcedures.Contains(name)) return;
        if (!catalog_.Procedures.TryGetValue(name, out IReadOnlyList<Parameter>? parameters))
        {
            Say(call, $"there is no procedure {name}");
            return;
        }
        foreach (ExecuteParameter given in call.Parameters.Where(g => g.Variable is not null && !parameters.Any(p => p.Name.Is(g.Variable.Name))))
            Say(given, $"{name} has no parameter {given.Variable.Name}");
        foreach (Parameter missing in parameters.Where(p => !p.HasDefault && !call.Parameters.Any(g => g.Variable?.Name.Is(p.Name) ?? false)))
            Say(call, $"{name} wants {missing.Name}");
    }

    public override void ExplicitVisit(SecurityTargetObject target)
    {
        string name = string.Join('.', target.ObjectName.MultiPartIdentifier.Identifiers.Select(i => i.Value));
        if (!catalog_.Procedures.ContainsKey(name) && !catalog_.Tables.ContainsKey(name) && !catalog_.TableTypes.ContainsKey(name))
            Say(target, $"a right on {name}, which there is not");
    }
}
