# SPDX-License-Identifier: Apache-2.0
"""What a reviewer would reject and a machine can see. Each rule is one case; run from the top of the repository."""
import pathlib
import re
import subprocess
import sys

FILES = [pathlib.Path(name) for name in subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True,
    text=True).stdout.splitlines()]
FILES = [path for path in FILES if path.is_file()]
CXX = [path for path in FILES if path.suffix in (".h", ".cc")]
THIS = pathlib.Path("tests/lint/lint.py")
TEXTS: dict[pathlib.Path, str] = {}


def text(path: pathlib.Path) -> str:
    if path not in TEXTS:
        try:
            TEXTS[path] = path.read_text()
        except UnicodeDecodeError:
            TEXTS[path] = ""
    return TEXTS[path]


def first_line_of(path: pathlib.Path) -> str:
    return text(path).partition("\n")[0]


def run(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()[:40]


def matches(paths, pattern: str, what: str) -> list[str]:
    found = []
    for path in paths:
        for number, line in enumerate(text(path).splitlines(), 1):
            if re.search(pattern, line):
                found.append(f"{path}:{number}: {what}: {line.strip()[:120]}")
    return found


def format_is_clang_formats() -> list[str]:
    return run(["clang-format-14", "--dry-run", "-Werror", *map(str, CXX)])


def shell_scripts_pass_shellcheck() -> list[str]:
    scripts = [str(path) for path in FILES if re.match(r"#!.*\b(ba|da)?sh\b", first_line_of(path))]
    return run(["shellcheck", "-x", *scripts])


def each_source_names_its_licence() -> list[str]:
    sources = [path for path in FILES if path.suffix in (".h", ".cc", ".cmake", ".py", ".mjs", ".js", ".sh")
               or path.name == "CMakeLists.txt" or first_line_of(path).startswith("#!")]
    return [f"{path}: no SPDX-License-Identifier in its first five lines" for path in sources
            if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text(path).splitlines()[:5])]


def no_unfinished_work() -> list[str]:
    return matches([path for path in FILES if path != THIS], r"\b(TODO|FIXME|XXX|HACK)\b", "unfinished")


def nothing_names_the_machine_it_was_written_on() -> list[str]:
    # Lock files name no registry either: it is the installer's choice.
    return matches([path for path in FILES if path != THIS], r"(?<![\w.}])/(work|root)/|registry\.npmjs|https?://deb\.",
                   "place of one machine")


def no_file_is_too_large() -> list[str]:
    return [f"{path}: {path.stat().st_size} bytes, more than 100 KiB" for path in FILES
            if path.stat().st_size > 100 * 1024]


def error_codes_and_their_page_agree() -> list[str]:
    page = pathlib.Path("docs/reference/errors.md")
    documented = re.findall(r"^\| (PBX-\d{4}) \|", text(page), re.M)
    used: dict[str, pathlib.Path] = {}
    for path in FILES:
        if path.parts[0] in ("src", "include", "sql") and not path.name.endswith("_test.cc"):
            for code in re.findall(r"PBX-\d{4}", text(path)):
                used.setdefault(code, path)
    found = [f"{path}: {code} is not in {page}" for code, path in sorted(used.items()) if code not in documented]
    found += [f"{page}: {code} is used nowhere" for code in documented if code not in used]
    found += [f"{page}: {code} stands twice" for code in sorted(set(documented)) if documented.count(code) > 1]
    if documented != sorted(documented):
        found.append(f"{page}: the codes are not in order")
    return found


def public_headers_include_only_the_standard_library() -> list[str]:
    return matches([path for path in CXX if path.parts[0] == "include"], r'#include (<[^>]*[./][^>]*>|"(?!pillarbox/))',
                   "third-party or private header")


# Arrows go down only. A folder may include itself and what stands here.
LAYERS = {
    "core": [],
    "json": ["core"],
    "sql": ["core"],
    "system": ["core"],
    "postgresql": ["core", "sql"],
    "store": ["core", "json", "sql", "system", "postgresql"],
    "sink": ["core", "json", "sql", "system", "postgresql"],
    "relay": ["core", "json", "system", "store", "sink"],
    "config": ["core", "json", "system", "store", "sink", "relay"],
}


def layers_look_down_only() -> list[str]:
    found = []
    for path in CXX:
        if path.parts[0] != "src" or path.parts[1] not in LAYERS or path.name.endswith("_test.cc"):
            continue
        layer = path.parts[1]
        for number, line in enumerate(text(path).splitlines(), 1):
            include = re.match(r'#include "(\w+)/', line)
            if include and include[1] != "pillarbox" and include[1] != layer and include[1] not in LAYERS[layer]:
                found.append(f"{path}:{number}: {layer} must not see {include[1]}")
    return found


def tests_do_not_sleep() -> list[str]:
    # But where the length of a wait is what is tested; the line then says "sleep:" and why.
    tests = [path for path in CXX if path.name.endswith("_test.cc") or path.parts[0] == "tests"]
    return matches(tests, r"\b(sleep_for|sleep_until|usleep|nanosleep)\b(?!.*// sleep: )", "sleep; wait for the event")


def headers_say_pragma_once() -> list[str]:
    return [f"{path}: no #pragma once" for path in CXX if path.suffix == ".h" and "#pragma once" not in text(path)]


def one_number_for_the_version() -> list[str]:
    cmake = re.search(r"project\(Pillarbox VERSION ([\d.]+)", text(pathlib.Path("CMakeLists.txt")))[1]
    header = re.search(r'kVersion =\s*"([\d.]+)"', text(pathlib.Path("include/pillarbox/version.h")))[1]
    return [] if cmake == header else [f"CMakeLists.txt says {cmake}, include/pillarbox/version.h {header}"]


def links_inside_the_docs_lead_somewhere() -> list[str]:
    found = []
    for path in FILES:
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text(path)):
            if "://" not in target and not (path.parent / target).exists():
                found.append(f"{path}: link to {target}, which is not there")
    return found


RULES = [format_is_clang_formats, shell_scripts_pass_shellcheck, each_source_names_its_licence, no_unfinished_work,
         nothing_names_the_machine_it_was_written_on, no_file_is_too_large, error_codes_and_their_page_agree,
         public_headers_include_only_the_standard_library, layers_look_down_only, tests_do_not_sleep,
         headers_say_pragma_once, one_number_for_the_version, links_inside_the_docs_lead_somewhere]


def main() -> int:
    failed = 0
    for rule in RULES:
        found = rule()
        if found:
            failed += 1
            print(f"failed: {rule.__name__.replace('_', ' ')}")
            print("\n".join(f"  {line}" for line in found[:40]))
    print(f"{len(RULES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
