// SPDX-License-Identifier: Apache-2.0
using System.Text.RegularExpressions;
using Microsoft.SqlServer.TransactSql.ScriptDom;

namespace Pillarbox.Tsql;

// What is wrong, and where: printed as file:line:column: rule: text.
public sealed record Finding(string File, int Line, int Column, string Rule, string Text)
{
    public override string ToString() => $"{File}:{Line}:{Column}: {Rule}: {Text}";
}

// One file of T-SQL, parsed at the level of SQL Server 2022. Statement files also declare what they are given, in comment
// lines of the form "-- @Name TYPE, @Name TYPE".
public sealed class SqlFile
{
    public required string Name { get; init; }
    public required string Text { get; init; }
    public required TSqlScript? Script { get; init; }
    public required IReadOnlyDictionary<string, string> Given { get; init; }

    public bool IsStatement => Name.Contains("/statements/");
    public bool IsMigration => Regex.IsMatch(Name, @"/\d{3}_\w+\.sql$");
    public bool IsOurs => Name.StartsWith("sql/sqlserver/");

    public static TSqlParser Parser(int level) => level switch
    {
        150 => new TSql150Parser(initialQuotedIdentifiers: true),
        160 => new TSql160Parser(initialQuotedIdentifiers: true),
        _ => throw new ArgumentOutOfRangeException(nameof(level)),
    };

    public static IEnumerable<Finding> ParseErrors(string name, string text, int level)
    {
        Parser(level).Parse(new StringReader(text), out IList<ParseError> errors);
        return errors.Select(e => new Finding(name, e.Line, e.Column, $"parses-{level}", e.Message));
    }

    private static readonly Dictionary<(string, string), SqlFile> Known = [];

    // Nobody changes what was read, so that a file is read once however often it is looked at.
    public static SqlFile Read(string name, string text)
    {
        if (!Known.TryGetValue((name, text), out SqlFile? file)) Known[(name, text)] = file = ReadAnew(name, text);
        return file;
    }

    private static SqlFile ReadAnew(string name, string text)
    {
        var script = Parser(160).Parse(new StringReader(text), out IList<ParseError> errors) as TSqlScript;
        var given = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        foreach (string line in text.Split('\n').TakeWhile(l => l.StartsWith("--")).Where(l => l.StartsWith("-- @")))
        {
            foreach (Match one in Regex.Matches(line, @"(@\w+) ([A-Z0-9]+(?:\((?:\d+|MAX)\))?)")) given[one.Groups[1].Value] = one.Groups[2].Value;
        }
        return new SqlFile { Name = name, Text = text, Script = errors.Count == 0 ? script : null, Given = given };
    }

    public Finding At(TSqlFragment fragment, string rule, string text) =>
        new(Name, fragment.StartLine, fragment.StartColumn, rule, text);
}

public static class Fragments
{
    // Every fragment of a type below this one, in the order of the text.
    public static IReadOnlyList<T> All<T>(this TSqlFragment? root) where T : TSqlFragment
    {
        var collector = new Collector<T>();
        root?.Accept(collector);
        return collector.Found;
    }

    // The text as written.
    public static string Words(this TSqlFragment? fragment) =>
        fragment is null ? "" : string.Concat(Enumerable.Range(fragment.FirstTokenIndex, fragment.LastTokenIndex - fragment.FirstTokenIndex + 1)
            .Select(i => fragment.ScriptTokenStream[i].Text));

    // "dbo.JobOutbox"; without a schema just the name.
    public static string Dotted(this SchemaObjectName? name) => name is null ? "" : string.Join('.', name.Identifiers.Select(i => i.Value));

    public static bool Is(this string left, string right) => string.Equals(left, right, StringComparison.OrdinalIgnoreCase);

    private sealed class Collector<T> : TSqlFragmentVisitor where T : TSqlFragment
    {
        public List<T> Found { get; } = [];
        public override void Visit(TSqlFragment node)
        {
            if (node is T wanted) Found.Add(wanted);
        }
    }
}
