// SPDX-License-Identifier: Apache-2.0
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

// Something that columns come from: a table, a variable, a derived table. Columns is null when they are not known here.
public sealed record Source(string Alias, HashSet<string>? Columns);

// The sources that one query, or one INSERT, UPDATE or DELETE, sees.
public sealed class Scope
{
    public List<Source> Sources { get; } = [];
    public HashSet<string> Outputs { get; } = new(StringComparer.OrdinalIgnoreCase);  // names given in the select list

    // What a query calls its columns.
    public static List<string> ColumnsOf(QueryExpression query) => query switch
    {
        QuerySpecification q => q.SelectElements.OfType<SelectScalarExpression>().Select(NameOf).OfType<string>().ToList(),
        BinaryQueryExpression b => ColumnsOf(b.FirstQueryExpression),
        QueryParenthesisExpression p => ColumnsOf(p.QueryExpression),
        _ => [],
    };

    private static string? NameOf(SelectScalarExpression element) =>
        element.ColumnName?.Value ?? (element.Expression as ColumnReferenceExpression)?.MultiPartIdentifier?.Identifiers[^1].Value;
}
