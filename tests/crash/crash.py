# SPDX-License-Identifier: Apache-2.0
"""The real relay under real crashes; the books are kept by an observer that shares no code with it.

crash.py --pillarbox PROGRAM --store sqlite|URL --seed N --folder DIR [--kills N] [--stops N]

A producer commits and rolls back without pause. Meanwhile the relay is ended by SIGKILL at random moments, stopped by SIGSTOP past its
lease and woken again, and drained by SIGTERM under load. At the end each committed message was delivered and is dispatched, nothing else
was, keys kept their order, and there are no more copies than interruptions can explain.
"""
import argparse
import collections
import http.server
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from fresh_database import fresh_database  # noqa: E402

WORKERS, BATCH, CONNECTIONS = 2, 20, 16
LEASE_SECONDS = 11


class Wrong(Exception):
    pass


def wait_until(what: str, condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Wrong(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.02)


class Receiver:
    """An HTTP endpoint that notes what arrived before it answers. While held it answers nothing."""

    def __init__(self):
        self.lock = threading.Lock()
        self.arrived: list[str] = []
        self.waiting = 0
        self.go = threading.Event()
        self.go.set()
        outer = self

        class Endpoint(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                with outer.lock:
                    outer.arrived.append(self.headers["pillarbox-message-id"])
                    outer.waiting += 1
                outer.go.wait(60)
                with outer.lock:
                    outer.waiting -= 1
                self.send_response_only(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):  # a killed relay leaves cut connections
                pass

        self.server = Server(("127.0.0.1", 0), Endpoint)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def seen(self) -> list[str]:
        with self.lock:
            return list(self.arrived)


class Sqlite:
    def __init__(self, folder: pathlib.Path):
        self.path = folder / "app.db"
        self.url = f"sqlite:{self.path}"

    def connect(self):
        return sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)

    def ask(self, db, sql: str) -> list[tuple]:
        return db.execute(sql.replace("pillarbox.", "pillarbox_")).fetchall()

    def enqueue(self, db, message: tuple) -> None:
        db.execute("insert into pillarbox_outbox (message_id, job_type, payload, ordering_key) values (?, 'crash.v1', ?, ?)",
                   (message[0], json.dumps({"id": message[0]}), message[1]))

    begin = "begin immediate"


class Postgresql:
    def __init__(self, url: str, seed: int):
        import psycopg
        self.psycopg = psycopg
        self.url = fresh_database(f"crash_{seed}", url)

    def connect(self):
        return self.psycopg.connect(self.url, autocommit=True)

    def ask(self, db, sql: str) -> list[tuple]:
        return db.execute(sql).fetchall()

    def enqueue(self, db, message: tuple) -> None:
        db.execute("select pillarbox.enqueue('crash.v1', %s::text, message_id => %s, ordering_key => %s)",
                   (json.dumps({"id": message[0]}), message[0], message[1]))

    begin = "begin"


class Producer:
    """Commits two of three transactions, without pause; knows what it committed, in order."""

    def __init__(self, store, seed: int):
        self.store, self.rng = store, random.Random(seed)
        self.committed: dict[str, str | None] = {}
        self.rolled_back: set[str] = set()
        self.stop = threading.Event()
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        try:
            db = self.store.connect()
            while not self.stop.is_set():
                messages = [(str(uuid.UUID(int=self.rng.getrandbits(128), version=4)),
                             f"key-{self.rng.randrange(20)}" if self.rng.random() < 0.3 else None)
                            for _ in range(self.rng.randint(1, 12))]
                commit = self.rng.random() < 2 / 3
                db.execute(self.store.begin)
                for message in messages:
                    self.store.enqueue(db, message)
                db.execute("commit" if commit else "rollback")
                if commit:
                    self.committed.update(messages)
                else:
                    self.rolled_back.update(id_ for id_, _ in messages)
                self.stop.wait(0.02)
        except Exception as error:  # told by the main thread
            self.error = error

    def finish(self) -> None:
        self.stop.set()
        self.thread.join()
        if self.error:
            raise Wrong(f"the producer failed: {self.error}")


class Course:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rng = random.Random(arguments.seed)
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.folder.mkdir(parents=True)
        self.store = Sqlite(self.folder) if arguments.store == "sqlite" else Postgresql(arguments.store, arguments.seed)
        self.receiver = Receiver()
        (self.folder / "pillarbox.toml").write_text(f"""\
[[outbox]]
name = "crash"
store = "{self.store.url}"

[relay]
workers = {WORKERS}
batch_size = {BATCH}
lease = "{LEASE_SECONDS}s"
poll_interval = "200ms"

[retry]
max_attempts = 1000
base = "20ms"
cap = "200ms"

[log]
format = "json"

[sink.endpoint]
url = "http://127.0.0.1:{self.receiver.port}/"
timeout = "1s"
connections = {CONNECTIONS}
allow_private_addresses = true

[[route]]
type = "*"
sink = "endpoint"
""")
        subprocess.run([arguments.pillarbox, "migrate"], cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        self.db = self.store.connect()
        self.relays: list[subprocess.Popen] = []
        self.interruptions = 0

    def start(self) -> subprocess.Popen:
        with open(self.folder / "relay.log", "ab") as log:
            relay = subprocess.Popen([self.arguments.pillarbox, "run"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=log)
        self.relays.append(relay)
        return relay

    def end(self, relay: subprocess.Popen) -> None:
        relay.send_signal(signal.SIGTERM)
        try:
            code = relay.wait(timeout=40)
        except subprocess.TimeoutExpired:
            raise Wrong("the relay did not end within 40 s of SIGTERM") from None
        if code != 0:
            raise Wrong(f"the relay ended with {code} on SIGTERM")
        if self.held_by(relay):
            raise Wrong("a drained relay left messages claimed")

    def ask(self, sql: str) -> list[tuple]:
        return self.store.ask(self.db, sql)

    def held_by(self, relay: subprocess.Popen) -> dict[str, int]:
        rows = self.ask(f"select message_id, claim_no from pillarbox.outbox "
                        f"where status = 1 and claimed_by like '%:{relay.pid}:%'")
        return {str(id_): claim_no for id_, claim_no in rows}

    def delivers(self, relay: subprocess.Popen, count: int = 1) -> None:
        before = len(self.receiver.seen())

        def more() -> bool:
            if relay.poll() is not None:
                raise Wrong(f"the relay ended by itself with {relay.returncode}, see relay.log")
            return len(self.receiver.seen()) >= before + count
        wait_until("the relay to deliver", more, 60)

    def check_marks(self) -> None:
        """Delivered before marked: at any moment, also after a crash."""
        dispatched = {str(row[0]) for row in self.ask("select message_id from pillarbox.outbox where status = 2")}
        early = dispatched - set(self.receiver.seen())
        if early:
            raise Wrong(f"{len(early)} are marked dispatched and never arrived")

    def kills(self, count: int) -> None:
        for _ in range(count):
            relay = self.start()
            if self.rng.random() < 0.8:
                self.delivers(relay, self.rng.randint(1, 60))
            time.sleep(self.rng.random() * 0.1)  # the moment is the test
            relay.kill()
            relay.wait()
            self.interruptions += 1
            self.check_marks()

    def stops(self, count: int) -> None:
        for _ in range(count):
            relay = self.start()
            self.delivers(relay, self.rng.randint(1, 60))
            self.end(relay)
            self.check_marks()

    def freeze(self) -> None:
        """A relay sleeps past its lease in the middle of a delivery; another takes over; then the first one goes on."""
        frozen = self.start()
        self.delivers(frozen, 20)
        self.receiver.go.clear()
        wait_until("deliveries in flight", lambda: self.receiver.waiting > 0 and self.held_by(frozen), 60)
        frozen.send_signal(signal.SIGSTOP)
        self.receiver.go.set()
        held = self.held_by(frozen)
        self.interruptions += 1
        other = self.start()

        def taken_over() -> bool:
            ids = ",".join(f"'{id_}'" for id_ in held)
            rows = self.ask(f"select message_id, claim_no from pillarbox.outbox where message_id in ({ids})")
            return all(claim_no > held[str(id_)] for id_, claim_no in rows)
        try:
            wait_until("another relay to take the leases over", taken_over, LEASE_SECONDS + 30)
        finally:
            frozen.send_signal(signal.SIGCONT)
        self.delivers(other, 1)
        self.end(frozen)
        self.end(other)
        self.check_marks()

    def run(self) -> str:
        producer = Producer(self.store, self.arguments.seed)
        producer.thread.start()
        try:
            self.kills(self.arguments.kills)
            self.freeze()
            self.stops(self.arguments.stops)
        finally:
            producer.finish()
        relay = self.start()

        def drained() -> bool:
            if relay.poll() is not None:
                raise Wrong(f"the relay ended by itself with {relay.returncode}, see relay.log")
            return self.ask("select count(*) from pillarbox.outbox where status in (0, 1)")[0][0] == 0
        wait_until("everything to be delivered", drained, 120)
        self.end(relay)
        return self.check(producer)

    def check(self, producer: Producer) -> str:
        committed = producer.committed
        counts = collections.Counter(self.receiver.seen())
        strangers = set(counts) - set(committed)
        if strangers:
            raise Wrong(f"{len(strangers)} arrived that were never committed")
        missing = set(committed) - set(counts)
        if missing:
            raise Wrong(f"{len(missing)} of {len(committed)} committed messages never arrived, {sorted(missing)[0]} among them")
        rows = {str(row[0]): row[1:] for row in self.ask("select message_id, status, claim_no from pillarbox.outbox")}
        if set(rows) != set(committed):
            raise Wrong("the outbox does not hold exactly what was committed")
        undone = [id_ for id_, row in rows.items() if row[0] != 2]
        if undone:
            raise Wrong(f"{len(undone)} did not end as dispatched")
        # Each copy needs a claim of its own, and only what an interruption met in flight is sent again.
        for id_, count in counts.items():
            if count > rows[id_][1]:
                raise Wrong(f"{id_} arrived {count} times with {rows[id_][1]} claims")
        copies = sum(counts.values()) - len(counts)
        if copies > self.interruptions * WORKERS * BATCH:
            raise Wrong(f"{copies} copies; {self.interruptions} interruptions explain {self.interruptions * WORKERS * BATCH}")
        first: dict[str, list[str]] = collections.defaultdict(list)
        for id_ in dict.fromkeys(self.receiver.seen()):
            if committed[id_]:
                first[committed[id_]].append(id_)
        for key, ids in first.items():
            if ids != [id_ for id_, its_key in committed.items() if its_key == key]:
                raise Wrong(f"{key} arrived out of order")
        for line in (self.folder / "relay.log").read_text(errors="replace").splitlines():
            if '"level":"error"' in line.replace(" ", ""):
                raise Wrong(f"the relay wants a person: {line[:300]}")
        return f"{len(committed)} committed and delivered, {copies} copies from {self.interruptions} interruptions"

    def clean_up(self) -> None:
        for relay in self.relays:
            if relay.poll() is None:
                relay.send_signal(signal.SIGCONT)
                relay.kill()
                relay.wait()


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("pillarbox", "store", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--stops", type=int, default=15)
    arguments = parser.parse_args()
    course = None
    try:
        course = Course(arguments)
        print(f"ok: seed {arguments.seed}, {arguments.store.split(':')[0]}: {course.run()}")
        return 0
    except (Wrong, subprocess.SubprocessError) as error:
        print(f"failed: seed {arguments.seed}, {arguments.store.split(':')[0]}: {error} (see {arguments.folder})")
        return 1
    finally:
        if course is not None:
            course.clean_up()


if __name__ == "__main__":
    sys.exit(main())
