# SPDX-License-Identifier: Apache-2.0
"""registration.py MODE LIFE: a registration service, until it is killed.

It registers one person after the other. Each of them must get a welcome e-mail. MODE says how that is asked for:
  commit-then-enqueue   the account is committed, then the job goes to the job store, another database
  enqueue-then-commit   the other way round
  outbox                account and message in one transaction of one database
"""
import itertools
import json
import sqlite3
import sys

mode, life = sys.argv[1], sys.argv[2]
app = sqlite3.connect("app.db", timeout=30, isolation_level=None)
jobs = sqlite3.connect("jobs.db", timeout=30, isolation_level=None)


def add_account(email: str) -> None:
    app.execute("insert into account (email, mode) values (?, ?)", (email, mode))


def add_job(email: str) -> None:
    jobs.execute("begin immediate")
    jobs.execute("insert into job (job_type, email, mode) values ('email.welcome.v1', ?, ?)", (email, mode))
    jobs.execute("commit")


def commit_then_enqueue(email: str) -> None:
    app.execute("begin immediate")
    add_account(email)
    app.execute("commit")
    add_job(email)


def enqueue_then_commit(email: str) -> None:
    app.execute("begin immediate")
    add_account(email)
    add_job(email)
    app.execute("commit")


def outbox(email: str) -> None:
    app.execute("begin immediate")
    add_account(email)
    app.execute("insert into pillarbox_outbox (job_type, payload) values (?, ?)",
                ("email.welcome.v1", json.dumps({"email": email})))
    app.execute("commit")


register = {"commit-then-enqueue": commit_then_enqueue, "enqueue-then-commit": enqueue_then_commit, "outbox": outbox}[mode]
print("ready", flush=True)
for number in itertools.count(1):
    register(f"{mode}-{life}-{number}@example.org")
