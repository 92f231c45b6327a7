# SPDX-License-Identifier: Apache-2.0
"""count_results.py BUILD_DIR: adds up the test cases of one ctest run.

A GoogleTest program writes BUILD_DIR/results/NAME.xml; any other ctest entry counts as one case. A program that died
before it wrote its results counts as one failed case. Names each skipped case with its reason, and with CI set fails for
those that could have run on the build server (their reason says what they need). What failed comes last, with what was
said of it: the end of this output is what a reader of a long log sees.
"""
import os
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

MOST_SHOWN = 12


def words_of(text: str) -> str:
    """The last lines of what was said, each indented: where a program died, the end is what tells."""
    lines = [line[:300] for line in text.splitlines() if line.strip()]
    return "".join(f"\n    {line}" for line in lines[-8:])


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    passed = failed = skipped = 0
    reasons: dict[str, list[str]] = {}
    failures: list[str] = []
    junit = build / "junit.xml"
    if not junit.exists():
        print(f"{build}: ctest wrote no results")
        return 1
    for entry in ElementTree.parse(junit).getroot().iter("testcase"):
        name, status = entry.get("name"), entry.get("status")
        try:
            cases = list(ElementTree.parse(build / "results" / f"{name}.xml").getroot().iter("testcase"))
        except (OSError, ElementTree.ParseError):
            if status == "run":
                passed += 1
            elif status in ("notrun", "disabled"):
                skipped += 1
                reasons.setdefault("not run by ctest", []).append(name)
            else:
                failed += 1
                failures.append(f"failed: {name}{words_of(entry.findtext('system-out') or '')}")
            continue
        before = failed
        for case in cases:
            full_name = f"{case.get('classname')}.{case.get('name')}"
            note = case.find("skipped")
            if (failure := case.find("failure")) is not None:
                failed += 1
                failures.append(f"failed: {name}: {full_name}{words_of(failure.get('message') or '')}")
            elif note is not None or case.get("status") == "notrun":
                skipped += 1
                # The first line is where, the second why.
                words = (note.get("message", "") if note is not None else "").splitlines()[1:]
                reasons.setdefault(" ".join(words).strip() or "no reason given", []).append(full_name)
            else:
                passed += 1
        if status == "fail" and failed == before:  # it passed its cases and then died, or a sanitizer spoke at exit
            failed += 1
            failures.append(f"failed: {name}: ended with an error after its cases{words_of(entry.findtext('system-out') or '')}")
    could_have_run = 0
    for reason, names in sorted(reasons.items()):
        print(f"skipped, {reason}: {len(names)} ({names[0]}{', …' if len(names) > 1 else ''})")
        if os.environ.get("CI") and (re.search(r"needs |not set|not installed", reason) or reason in ("no reason given", "not run by ctest")):
            could_have_run += len(names)
    if could_have_run:
        failures.append(f"{could_have_run} of the skipped cases can run on the build server: they count as failed there")
    for failure in failures[:MOST_SHOWN]:
        print(failure)
    if len(failures) > MOST_SHOWN:
        print(f"failed: and {len(failures) - MOST_SHOWN} more, further up")
    failed, skipped = failed + could_have_run, skipped - could_have_run
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
