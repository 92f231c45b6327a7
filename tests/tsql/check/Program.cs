// SPDX-License-Identifier: Apache-2.0
using Pillarbox.Tsql;

// check ROOT: reads the T-SQL below ROOT, prints what is wrong and, last, how many cases passed.
// check ROOT --items: prints what the migrations make, in the words of statements/drift.sql.
string root = args.Length > 0 ? args[0] : ".";
var texts = new SortedDictionary<string, string>(StringComparer.Ordinal);
foreach (string folder in new[] { "sql/sqlserver", "examples/sql/sqlserver" })
{
    foreach (string path in Directory.EnumerateFiles(Path.Combine(root, folder), "*.sql", SearchOption.AllDirectories))
        texts[Path.GetRelativePath(root, path).Replace('\\', '/')] = File.ReadAllText(path);
}

if (args.Contains("--items"))
{
    foreach (string item in Catalog.Of(texts.Select(t => SqlFile.Read(t.Key, t.Value)).Where(f => f.IsMigration).ToList()).Items()) Console.WriteLine(item);
    return 0;
}

Statements.OfPostgresql = [.. Directory.EnumerateFiles(Path.Combine(root, "sql/postgresql/statements"), "*.sql").Select(p => Path.GetFileNameWithoutExtension(p)!)];

int passed = 0, failed = 0;
void Case(string name, IEnumerable<string> problems)
{
    List<string> all = problems.Distinct().ToList();
    if (all.Count == 0)
    {
        passed++;
        return;
    }
    failed++;
    Console.WriteLine($"failed: {name}");
    foreach (string problem in all) Console.WriteLine($"  {problem}");
}

foreach ((string name, string text) in texts)
{
    if (name.EndsWith("expected_items.sql")) continue;
    foreach (int level in new[] { 150, 160 })
        Case($"{name} parses at level {level}", SqlFile.ParseErrors(name, text, level).Select(f => f.ToString()));
}
Suite suite = Suite.Of(texts);
foreach (string rule in Suite.RuleNames) Case(rule, suite.Findings.Where(f => f.Rule == rule).Select(f => f.ToString()));

// A guard that no test can see broken does not exist: each of these must be noticed by the rule it names.
foreach (Sabotage sabotage in Sabotage.All) Case($"sabotage is noticed: {sabotage.What}", sabotage.Unnoticed(texts, suite));

Console.WriteLine($"{texts.Count} files, {Suite.RuleNames.Count} rules, {Sabotage.All.Count} sabotages");
Console.WriteLine($"{passed} passed, {failed} failed, 0 skipped");
return failed == 0 ? 0 : 1;
