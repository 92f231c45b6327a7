# SPDX-License-Identifier: Apache-2.0
"""register_sqlite.py EMAIL: registers an account and the e-mail that must follow, in one transaction."""
import json
import sqlite3
import sys

# [register
db = sqlite3.connect("app.db", timeout=30)
db.execute("create table if not exists account (id integer primary key, email text unique)")


def register(email: str) -> None:
    with db:  # one transaction: commits at the end, rolls back on an exception
        account_id = db.execute("insert into account (email) values (?)", (email,)).lastrowid
        db.execute("insert into pillarbox_outbox (job_type, payload) values (?, ?)",
                   ("email.welcome.v1", json.dumps({"account_id": account_id})))


register(sys.argv[1])
# register]
