// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

public sealed record Parameter(string Name, bool HasDefault, bool IsOutput);

public sealed record Index(string Table, string Name, IReadOnlyList<string> Keys, IReadOnlyList<string> Filter);

// What the files make: tables, table types, views, procedures, indexes.
public sealed class Catalog
{
    private static readonly StringComparer Names = StringComparer.OrdinalIgnoreCase;

    public Dictionary<string, Dictionary<string, string>> Tables { get; } = new(Names);  // with views; column -> type
    public Dictionary<string, Dictionary<string, string>> TableTypes { get; } = new(Names);
    public Dictionary<string, IReadOnlyList<Parameter>> Procedures { get; } = new(Names);
    public List<Index> Indexes { get; } = [];
    private readonly HashSet<string> views_ = new(Names);

    public static Catalog Of(IReadOnlyCollection<SqlFile> files)
    {
        var catalog = new Catalog();
        foreach (SqlFile file in files.Where(f => f.Script is not null)) catalog.Add(file.Script!);
        return catalog;
    }

    // In the words of statements/drift.sql, sorted as it sorts.
    public IEnumerable<string> Items() =>
        Tables.Where(t => !views_.Contains(t.Key))
            .SelectMany(t => t.Value.Select(c => $"column {Bare(t.Key)}.{c.Key} {c.Value}"))
            .Concat(Indexes.Select(i => $"index {Bare(i.Table)}.{i.Name}").Distinct())
            .Concat(Procedures.Keys.Select(p => $"procedure {Bare(p)}"))
            .Order(StringComparer.Ordinal);

    public Index? IndexOf(string table, string name) => Indexes.FirstOrDefault(i => i.Table.Is(table) && i.Name.Is(name));

    private static string Bare(string name) => name[(name.LastIndexOf('.') + 1)..];

    private void Add(TSqlScript script)
    {
        foreach (CreateTableStatement table in script.All<CreateTableStatement>())
        {
            string name = table.SchemaObjectName.Dotted();
            Tables[name] = Columns(table.Definition);
            AddKeys(name, table.Definition);
        }
        foreach (AlterTableAddTableElementStatement more in script.All<AlterTableAddTableElementStatement>())
        {
            string name = more.SchemaObjectName.Dotted();
            if (!Tables.TryGetValue(name, out Dictionary<string, string>? columns)) continue;
            foreach ((string column, string type) in Columns(more.Definition)) columns[column] = type;
        }
        foreach (CreateTypeTableStatement type in script.All<CreateTypeTableStatement>())
            TableTypes[type.Name.Dotted()] = Columns(type.Definition);
        foreach (CreateOrAlterViewStatement view in script.All<CreateOrAlterViewStatement>())
        {
            views_.Add(view.SchemaObjectName.Dotted());
            Tables[view.SchemaObjectName.Dotted()] = Scope.ColumnsOf(view.SelectStatement.QueryExpression).ToDictionary(c => c, _ => "", Names);
        }
        foreach (ProcedureStatementBody procedure in script.All<ProcedureStatementBody>())
        {
            Procedures[procedure.ProcedureReference.Name.Dotted()] =
                procedure.Parameters.Select(p => new Parameter(p.VariableName.Value, p.Value is not null, p.Modifier == ParameterModifier.Output)).ToList();
        }
        foreach (CreateIndexStatement index in script.All<CreateIndexStatement>())
        {
            Indexes.Add(new Index(index.OnName.Dotted(), index.Name.Value,
                index.Columns.Select(c => c.Column.MultiPartIdentifier.Identifiers[^1].Value).ToList(), Conditions(index.FilterPredicate)));
        }
    }

    private void AddKeys(string table, TableDefinition definition)
    {
        IEnumerable<UniqueConstraintDefinition> all = definition.TableConstraints.OfType<UniqueConstraintDefinition>()
            .Concat(definition.ColumnDefinitions.SelectMany(c => c.Constraints.OfType<UniqueConstraintDefinition>()));
        foreach (UniqueConstraintDefinition key in all.Where(k => k.ConstraintIdentifier is not null))
            Indexes.Add(new Index(table, key.ConstraintIdentifier.Value, key.Columns.Select(c => c.Column.MultiPartIdentifier.Identifiers[^1].Value).ToList(), []));
    }

    public static Dictionary<string, string> Columns(TableDefinition definition) =>
        definition.ColumnDefinitions.ToDictionary(c => c.ColumnIdentifier.Value, c => TypeName(c.DataType), Names);

    private static string TypeName(DataTypeReference? type) =>
        type?.Name is null ? "" : type.Name.Identifiers[^1].Value.ToLowerInvariant();

    // The conditions that a filter joins with AND, without their table's alias: "Status<=1".
    public static IReadOnlyList<string> Conditions(BooleanExpression? predicate) => predicate switch
    {
        null => [],
        BooleanBinaryExpression { BinaryExpressionType: BooleanBinaryExpressionType.And } both => [.. Conditions(both.FirstExpression), .. Conditions(both.SecondExpression)],
        BooleanParenthesisExpression inner => Conditions(inner.Expression),
        _ => [Plain(predicate)],
    };

    private static string Plain(TSqlFragment condition)
    {
        var words = new System.Text.StringBuilder();
        for (int i = condition.FirstTokenIndex; i <= condition.LastTokenIndex; i++)
        {
            TSqlParserToken token = condition.ScriptTokenStream[i];
            if (token.TokenType is TSqlTokenType.WhiteSpace or TSqlTokenType.SingleLineComment or TSqlTokenType.MultilineComment) continue;
            if (token.TokenType == TSqlTokenType.Identifier && i < condition.LastTokenIndex && condition.ScriptTokenStream[i + 1].TokenType == TSqlTokenType.Dot)
            {
                i++;  // an alias and its dot
                continue;
            }
            words.Append(token.Text.ToUpperInvariant()).Append(' ');
        }
        return words.ToString().TrimEnd();
    }
}
