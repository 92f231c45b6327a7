# SPDX-License-Identifier: Apache-2.0
"""core_symbols.py BUILD_DIR: the decisions in src/core know no clock, no chance, no thread, no file.

Looks into the object files, where an include of an include cannot hide it.
"""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"\b(clock_gettime|gettimeofday|time|clock|getrandom|getentropy|arc4random|rand|random|srand|nanosleep|usleep|sleep"
    r"|fopen|open|openat|socket|connect|getenv|pthread_create)\b"
    r"|random_device|chrono::_V2::(system|steady)_clock::now|std::thread::|condition_variable::wait|basic_[io]?fstream"
    r"|chrono::(system|steady)_clock::now")


def main() -> int:
    archive = pathlib.Path(sys.argv[1]) / "src" / "core" / "libpillarbox_core.a"
    listing = subprocess.run(["nm", "--undefined-only", "--demangle", "--format=posix", archive], check=True,
                             capture_output=True, text=True).stdout
    passed = failed = 0
    found: list[str] = []
    member = ""

    def close() -> None:
        nonlocal passed, failed
        if not member:
            return
        if found:
            failed += 1
            print(f"failed: {member}: {', '.join(found)}")
        else:
            passed += 1

    for line in listing.splitlines():
        start = re.match(r".*\[(.+)\]:$", line)
        if start:
            close()
            member, found = start[1], []
            continue
        symbol = re.sub(r"( U)?\s*$", "", line)
        # A plain C name stands alone; a C++ one has brackets or colons.
        if FORBIDDEN.search(symbol) and (("(" in symbol or "::" in symbol) == ("::" in FORBIDDEN.search(symbol)[0]
                                                                              or "random_device" in symbol)):
            found.append(symbol.strip())
    close()
    if passed + failed == 0:
        print(f"{archive} has no object files")
        return 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
