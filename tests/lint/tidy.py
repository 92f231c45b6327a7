# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on every source of the product, as the asan build (Clang) compiles it; a file that passed is read again only when it, a header that it
includes, .clang-tidy or its command changed. What passed is remembered in build/tidy-passed.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

BUILD = pathlib.Path("build/asan")
PASSED = pathlib.Path("build/tidy-passed")


def key_of(entry: dict, tidy_settings: bytes) -> str:
    """A hash over the file, all of ours that it includes, and how it is compiled."""
    arguments = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    drop_output = [word for at, word in enumerate(arguments) if word not in ("-o", "-c") and arguments[at - 1] != "-o"]
    listed = subprocess.run([*drop_output, "-MM"], cwd=entry["directory"], capture_output=True, text=True)
    if listed.returncode != 0:
        return ""
    digest = hashlib.sha256(tidy_settings + entry["command"].encode())
    root = os.getcwd()
    for name in sorted(set(listed.stdout.replace("\\\n", " ").split()[1:])):
        path = os.path.normpath(os.path.join(entry["directory"], name))
        if path.startswith(root):
            digest.update(path[len(root):].encode() + b"\0" + pathlib.Path(path).read_bytes())
    return digest.hexdigest()


def check(entry: dict, tidy_settings: bytes) -> tuple[str, str]:
    key = key_of(entry, tidy_settings)
    mark = PASSED / key
    if key and mark.exists():
        mark.touch()
        return "known", ""
    done = subprocess.run(["clang-tidy-14", "--quiet", "-p", str(BUILD), entry["file"]], capture_output=True, text=True)
    if done.returncode == 0:
        if key:
            mark.touch()
        return "passed", ""
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return "failed", "\n".join(lines[:30]) or done.stderr[-2000:]


def main() -> int:
    database = BUILD / "compile_commands.json"
    if not database.exists():
        subprocess.run(["cmake", "--preset", "asan"], check=True, stdout=subprocess.DEVNULL)
    PASSED.mkdir(parents=True, exist_ok=True)
    tidy_settings = pathlib.Path(".clang-tidy").read_bytes()
    # The product, not its tests: on two cores those would take as long again.
    entries = [entry for entry in json.loads(database.read_text())
               if re.match(r"(src|bench)/(?!.*_test\.cc$)", os.path.relpath(entry["file"]))]
    if not entries:
        print("no files to check")
        return 1
    passed = failed = known = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        results = pool.map(lambda entry: (entry["file"], *check(entry, tidy_settings)), entries)
        for file, verdict, text in results:
            if verdict == "failed":
                failed += 1
                print(f"failed: {os.path.relpath(file)}\n{text}", flush=True)
            else:
                passed += 1
                known += verdict == "known"
    for old in sorted(PASSED.iterdir(), key=lambda path: path.stat().st_mtime)[:-4 * len(entries)]:
        old.unlink()
    print(f"{known} of them had passed before and did not change")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
