// SPDX-License-Identifier: Apache-2.0
namespace Pillarbox.Tsql;

// All that is asked of all files.
public sealed class Suite
{
    public required IReadOnlyList<Finding> Findings { get; init; }

    public static IReadOnlyList<string> RuleNames { get; } =
        [NameCheck.Rule, ExpectedItems, SameNames, .. Rules.All.Select(r => r.Name)];

    private const string ExpectedItems = "expected-items-agree";
    private const string SameNames = "statements-are-named-as-elsewhere";

    public static Suite Of(IReadOnlyDictionary<string, string> texts)
    {
        List<SqlFile> files = texts.Where(t => !t.Key.EndsWith("expected_items.sql")).Select(t => SqlFile.Read(t.Key, t.Value)).ToList();
        Catalog catalog = Catalog.Of(files);
        var findings = new List<Finding>();
        foreach (SqlFile file in files.Where(f => f.Script is null))
            findings.AddRange(SqlFile.ParseErrors(file.Name, file.Text, 160).Select(e => e with { Rule = NameCheck.Rule }));
        foreach (SqlFile file in files.Where(f => f.Script is not null))
        {
            findings.AddRange(NameCheck.Of(file, catalog));
            foreach (Rules.One rule in Rules.All) findings.AddRange(rule.Find(file, catalog).Select(f => f with { Rule = rule.Name }));
        }
        findings.AddRange(Expected(texts, Catalog.Of(files.Where(f => f.IsMigration).ToList())));
        return new Suite { Findings = findings };
    }

    private static IEnumerable<Finding> Expected(IReadOnlyDictionary<string, string> texts, Catalog catalog)
    {
        const string file = "sql/sqlserver/expected_items.sql";
        List<string> said = texts.GetValueOrDefault(file, "").Split('\n').Where(l => l.Length > 0 && !l.StartsWith("--")).ToList();
        List<string> made = catalog.Items().ToList();
        foreach (string item in made.Except(said)) yield return new Finding(file, 1, 1, ExpectedItems, $"the migrations make {item}");
        foreach (string item in said.Except(made)) yield return new Finding(file, 1, 1, ExpectedItems, $"no migration makes {item}");
        foreach (string statement in texts.Keys.Where(k => k.Contains("/statements/")))
        {
            // A new name is a decision: it stands here, or in another database's folder.
            string name = Path.GetFileNameWithoutExtension(statement);
            if (name is not ("session" or "unlock_migration") && !Statements.OfPostgresql.Contains(name))
                yield return new Finding(statement, 1, 1, SameNames, $"no other database has a statement {name}");
        }
    }
}

// The statements of sql/postgresql, as they are on disk.
public static class Statements
{
    public static HashSet<string> OfPostgresql { get; set; } = [];
}
