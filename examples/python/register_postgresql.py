# SPDX-License-Identifier: Apache-2.0
"""register_postgresql.py CONNINFO EMAIL: the same on PostgreSQL, with psycopg."""
import json
import sys

# [register
import psycopg

db = psycopg.connect(sys.argv[1])
with db.transaction():
    db.execute("create table if not exists account (id bigint generated always as identity, email text unique)")


def register(email: str) -> str:
    with db.transaction():
        account_id = db.execute("insert into account (email) values (%s) returning id", (email,)).fetchone()[0]
        message_id = db.execute("select pillarbox.enqueue(%s, %s::jsonb, correlation_id => %s)",
                                ("email.welcome.v1", json.dumps({"account_id": account_id}), str(account_id))).fetchone()[0]
    return str(message_id)


print(register(sys.argv[2]))
# register]
