# SPDX-License-Identifier: Apache-2.0
"""Makes a database of its own on the test server and prints its URL. Needs scripts/services."""
import os
import sys
import urllib.parse
import uuid


def fresh_database(what: str = "test", url: str | None = None) -> str:
    import psycopg
    url = url or os.environ.get("PILLARBOX_TEST_POSTGRESQL15_URL")
    if not url:
        raise RuntimeError("needs PILLARBOX_TEST_POSTGRESQL15_URL: scripts/services start, then scripts/services env")
    name = f"{what}_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"create database {name}")
    return urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(path="/" + name))


if __name__ == "__main__":
    try:
        print(fresh_database())
    except RuntimeError as error:
        sys.exit(str(error))
