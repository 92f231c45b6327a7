# SPDX-License-Identifier: Apache-2.0
"""A registration service enqueues by SQL, Pillarbox relays, and an unmodified Hangfire server runs the methods.

hangfire.py --pillarbox PROGRAM --worker Shop.Jobs.dll --url POSTGRESQL --folder DIR [--messages N] [--seed N]

Once with Hangfire's tables in the outbox's database and once in another. A third of the transactions roll back; the relay is
killed again and again, the Hangfire server twice. Then: each committed message is exactly one job, its arguments, culture and
queue are those of the route, nothing rolled back became one, every job ran, and a method that fails is tried again by Hangfire.
"""
import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import time
import uuid

import psycopg

RELAY_KILLS = 12


class Wrong(Exception):
    pass


def want(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


def until(what: str, condition, limit: float = 120.0) -> None:
    end = time.monotonic() + limit
    while not condition():
        want(time.monotonic() < end, f"{what}: not within {limit:.0f} s")
        time.sleep(0.05)


class Database:
    def __init__(self, url: str, label: str):
        self.admin_url = url
        self.name = f"hangfire_{label}_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(f"create database {self.name}")
        self.url = url.rsplit("/", 1)[0] + "/" + self.name
        self.db = psycopg.connect(self.url, autocommit=True)
        info = self.db.info
        self.dotnet = f"Host={info.host};Port={info.port};Username={info.user};Database={self.name}"

    def ask(self, sql: str, *values) -> list[tuple]:
        return self.db.execute(sql, values or None).fetchall()

    def one(self, sql: str, *values):
        return self.ask(sql, *values)[0][0]

    def drop(self) -> None:
        self.db.close()
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            admin.execute(f"drop database if exists {self.name} with (force)")


class Process:
    def __init__(self, command: list[str], log: pathlib.Path):
        self.command, self.log, self.process = command, log, None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def stop(self, sig: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(sig)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Wrong(f"{self.command[0]} did not end") from None
            self.process = None


ROUTES = """
[relay]
lease = "11s"
workers = 2

[[outbox]]
name = "shop"
store = "{store}"

[sink.jobs]
url = "hangfire+{engine}"

[[route]]
type = "email.verify.v1"
sink = "jobs"
timeout = "1s"
batch_max = 50
job = "Shop.Jobs.IEmailJobs, Shop.Jobs"
method = "SendVerification"
parameters = ["System.Int64", "System.String", "System.Threading.CancellationToken, mscorlib", "Hangfire.Server.PerformContext, Hangfire.Core"]
args = ["/userId", "/tenant/id", "= null", "= null"]
queue = "mail"
culture = "de-AT"

[[route]]
type = "order.placed.v1"
sink = "jobs"
timeout = "1s"
job = "Shop.Jobs.IEmailJobs, Shop.Jobs"
method = "SendSometimes"
parameters = ["Shop.Jobs.Order, Shop.Jobs", "Hangfire.Server.PerformContext, Hangfire.Core"]
args = ["payload", "= null"]
"""


def tell_story(arguments: argparse.Namespace, folder: pathlib.Path, shop: Database, engine: Database) -> str:
    rng = random.Random(arguments.seed)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "pillarbox.toml"
    config.write_text(ROUTES.format(store=shop.url, engine=engine.url))
    pillarbox = [arguments.pillarbox]
    subprocess.run([*pillarbox, "migrate", "--config", config], check=True, capture_output=True)
    engine.ask("select 1")
    engine.db.execute("create table ran (job_id bigint, user_id bigint, text text, culture text, message_id text, queue text)")
    server = Process(["dotnet", arguments.worker, engine.dotnet], folder / "server.log")
    relay = Process([*pillarbox, "run", "--config", str(config)], folder / "relay.log")
    try:
        server.start()
        until("Hangfire makes its tables", lambda: engine.one("select to_regclass('hangfire.server') is not null")
              and engine.one("select count(*) from hangfire.server") > 0)

        def doctor() -> str:
            done = subprocess.run([*pillarbox, "doctor", "--config", config], capture_output=True, text=True)
            return done.stdout + done.stderr

        report = doctor()
        want('1 servers listen on queue "mail"' in report, f"doctor does not see the server: {report}")

        tenants = ["north", "süd", 'a "b" \\ c', "東京", "😀"]
        committed: dict[str, tuple] = {}
        rolled_back: set[str] = set()
        produce = psycopg.connect(shop.url)
        user = 0
        relay.start()
        kills = 0
        while len(committed) < arguments.messages:
            here: dict[str, tuple] = {}
            for _ in range(rng.randint(1, 20)):
                user += 1
                big = user + 2**53
                if user % 50 == 0:
                    note = rng.choice(tenants)
                    payload = '{"userId": %d, "note": %s, "total": 12.3400}' % (big, json.dumps(note))
                    kind, expected = "order.placed.v1", (big, note + "|12.3400")
                else:
                    tenant = rng.choice(tenants)
                    payload = json.dumps({"userId": big, "tenant": {"id": tenant}}, ensure_ascii=rng.random() < 0.5)
                    kind, expected = "email.verify.v1", (big, tenant)
                found = produce.execute("select pillarbox.enqueue(%s, %s::text)", (kind, payload)).fetchone()[0]
                here[str(found)] = (kind, *expected)
            if rng.random() < 1 / 3:
                produce.rollback()
                rolled_back |= here.keys()
            else:
                produce.commit()
                committed |= here
            # The kills are spread over what is enqueued.
            if kills < RELAY_KILLS and len(committed) > arguments.messages * (kills + 1) / (RELAY_KILLS + 1):
                relay.stop(signal.SIGKILL)
                relay.start()
                kills += 1
                if kills in (RELAY_KILLS // 3, 2 * RELAY_KILLS // 3):
                    server.stop(signal.SIGKILL)
                    server.start()
        produce.close()
        until("the relay hands everything over",
              lambda: shop.one("select count(*) from pillarbox.outbox where status <> 2") == 0)
        try:
            until("Hangfire runs everything",
                  lambda: engine.one("select count(distinct message_id) from ran") == len(committed), arguments.limit)
        except Wrong as wrong:
            raise Wrong(f"{wrong}; {engine.one('select count(distinct message_id) from ran')} of {len(committed)} ran; states "
                        + str(engine.ask("select statename, count(*) from hangfire.job group by 1"))
                        + str(engine.ask("select name, reason, left(data::text, 400) from hangfire.state "
                                         "where name in ('Failed', 'Scheduled') limit 1"))
                        + str(engine.ask("select queue, fetchedat is null, count(*) from hangfire.jobqueue group by 1, 2"))
                        ) from None
        until("the failing method is tried again and succeeds",
              lambda: engine.one("select count(*) from hangfire.job where statename <> 'Succeeded'") == 0)

        jobs = engine.ask("select (p.value::jsonb #>> '{}'), j.id, j.invocationdata ->> 'Method', j.statename "
                          "from hangfire.job j join hangfire.jobparameter p on p.jobid = j.id and p.name = 'Pillarbox.MessageId'")
        handed = [row[0] for row in jobs]
        want(len(handed) == len(set(handed)), f"{len(handed) - len(set(handed))} messages became two jobs")
        want(set(handed) == committed.keys(), f"{len(committed.keys() - set(handed))} lost, "
                                              f"{len(set(handed) & rolled_back)} rolled back and handed over")
        want(engine.one("select count(*) from hangfire.job") == len(committed), "jobs that no message asked for")
        repeats = 0
        for message_id, user_id, text, culture, queue, times in engine.ask(
                "select message_id, user_id, text, max(culture), max(queue), count(*) from ran group by 1, 2, 3"):
            kind, big, expected = committed[message_id]
            want((user_id, text) == (big, expected), f"{message_id}: ran with {(user_id, text)}, enqueued {(big, expected)}")
            if kind == "email.verify.v1":
                want((culture, queue) == ("de-AT", "mail"), f"{message_id}: ran in {(culture, queue)}")
                repeats += times - 1
            else:
                want(times >= 2 and queue == "default", f"{message_id}: a failing method ran {times} times in {queue}")
        absorbed = engine.one("select count(*) from pillarbox_handover.handover") == len(committed)
        want(absorbed, "the ledger has not one row for each job")
        # A class that is not there is Hangfire's to report, on its dashboard's page of the job.
        return (f"{len(committed)} committed, {len(rolled_back)} rolled back, {kills} relays and 2 servers killed: each committed "
                f"message is one job; {repeats} jobs ran again after a server's death, as Hangfire does")
    finally:
        relay.stop(signal.SIGKILL)
        server.stop(signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("pillarbox", "worker", "url", "folder"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--messages", type=int, default=1500)
    parser.add_argument("--limit", type=float, default=180.0, help="seconds that Hangfire may take for all of them")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    arguments = parser.parse_args()
    passed = failed = 0
    for label in ("same", "other"):
        shop = Database(arguments.url, label)
        engine = shop if label == "same" else Database(arguments.url, "engine")
        try:
            print(f"passed: {label} database, seed {arguments.seed}: "
                  + tell_story(arguments, pathlib.Path(arguments.folder) / label, shop, engine), flush=True)
            passed += 1
        except (Wrong, subprocess.CalledProcessError, psycopg.Error) as error:
            print(f"failed: {label} database, seed {arguments.seed}: {error}", flush=True)
            failed += 1
        finally:
            shop.drop()
            if engine is not shop:
                engine.drop()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
