# SPDX-License-Identifier: Apache-2.0
"""Real webhook payloads, from producers in another language through Pillarbox to receivers that others wrote.

interop.py --pillarbox PROGRAM --store sqlite|URL --seed N --folder DIR

Every payload of @octokit/webhooks-examples is enqueued by plain SQL in transactions of one to eight, a third of which roll
back. A relay delivers over HTTP: raw, and CloudEvents as binary, structured and batch, all signed. It is killed twice on the way and
started again. At the end the sets must be equal, and the bytes.
"""
import argparse
import base64
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import uuid

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"raw": "raw", "binary": "cloudevents-binary", "structured": "cloudevents-structured", "batch": "cloudevents-batch"}


class Wrong(Exception):
    pass


def payloads(rng: random.Random) -> list[tuple[str, bytes]]:
    """(event name, JSON text); written in several ways, all of them JSON."""
    found = []
    for index in sorted((HERE / "node_modules/@octokit/webhooks-examples").glob("*/index.json")):
        for event in json.loads(index.read_text()):
            for example in event["examples"]:
                spaced = rng.choice([None, 1, 4])
                text = json.dumps(example, ensure_ascii=rng.random() < 0.5, indent=spaced,
                                  separators=(",", ":") if spaced is None else None)
                found.append((event["name"], text.encode()))
    rng.shuffle(found)
    return found


class Sqlite:
    def __init__(self, folder: pathlib.Path):
        self.url = f"sqlite:{folder / 'app.db'}"
        self.path = folder / "app.db"

    def connect(self) -> None:
        self.db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self.db.execute("create table business (message_id text primary key)")

    def begin(self) -> None:
        self.db.execute("begin immediate")

    def enqueue(self, messages: list[dict]) -> None:
        for message in messages:
            self.db.execute("insert into business values (?)", (message["id"],))
            self.db.execute(
                "insert into pillarbox_outbox (message_id, job_type, payload, headers, ordering_key) values (?, ?, ?, ?, ?) "
                "on conflict (message_id) do nothing",
                (message["id"], message["type"], message["payload"].decode() if message["as_text"] else message["payload"],
                 json.dumps(message["headers"]), message["key"]))

    def end(self, commit: bool) -> None:
        self.db.execute("commit" if commit else "rollback")

    def ask(self, sql: str) -> list[tuple]:
        return self.db.execute(sql.replace("pillarbox.", "pillarbox_")).fetchall()


class Postgresql:
    def __init__(self, url: str, seed: int):
        import psycopg
        self.psycopg = psycopg
        name = f"interop_{seed}_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(f"create database {name}")
        self.admin_url, self.name = url, name
        self.url = urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(path="/" + name))

    def connect(self) -> None:
        self.db = self.psycopg.connect(self.url, autocommit=True)
        self.db.execute("create table business (message_id uuid primary key)")

    def begin(self) -> None:
        self.db.execute("begin")

    def enqueue(self, messages: list[dict]) -> None:
        for message in messages:
            self.db.execute("insert into business values (%s)", (message["id"],))
        if len(messages) > 1 and messages[0]["many"]:
            self.db.execute(
                "select pillarbox.enqueue_many(%s::text[], %s::bytea[], headers => %s::json[], message_ids => %s::uuid[], "
                "ordering_keys => %s::text[])",
                ([m["type"] for m in messages], [m["payload"] for m in messages],
                 [json.dumps(m["headers"]) for m in messages], [m["id"] for m in messages], [m["key"] for m in messages]))
            return
        for message in messages:
            kind = "text" if message["as_text"] else "bytea"
            self.db.execute(
                f"select pillarbox.enqueue(%s, %s::{kind}, headers => %s::json, message_id => %s, ordering_key => %s)",
                (message["type"], message["payload"].decode() if message["as_text"] else message["payload"],
                 json.dumps(message["headers"]), message["id"], message["key"]))

    def end(self, commit: bool) -> None:
        self.db.execute("commit" if commit else "rollback")

    def ask(self, sql: str) -> list[tuple]:
        return self.db.execute(sql).fetchall()


def config(store: str, port: int, folder: pathlib.Path) -> str:
    text = f"""\
[[outbox]]
name = "interop"
store = "{store}"

[relay]
workers = 2
batch_size = 40
lease = "13s"

[retry]
max_attempts = 20
base = "50ms"
cap = "500ms"
"""
    for name, form in KINDS.items():
        text += f"""
[sink.{name}]
url = "http://127.0.0.1:{port}/{name}"
format = "{form}"
sign = "standard-webhooks"
secrets = [{{ file = "{folder / 'secret-new'}" }}, {{ file = "{folder / 'secret-old'}" }}]
timeout = "3s"
allow_private_addresses = true

[[route]]
type = "{name}.*"
sink = "{name}"
"""
    return text


def start(command: list[str], folder: pathlib.Path, log: str, reads: bool = False) -> subprocess.Popen:
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=open(folder / log, "ab"),
                            stdout=subprocess.PIPE if reads else subprocess.DEVNULL, text=True)


def wait_until(what: str, condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Wrong(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.05)


def produce(store, rng: random.Random, found: list, relay_dies) -> tuple[dict, set]:
    """Enqueues all; returns what was committed, in order, and the ids of what was rolled back."""
    committed: dict[str, dict] = {}
    rolled_back: set[str] = set()
    at = 0
    total = len(found)
    deaths = sorted(rng.sample(range(total // 5, total - total // 5), 2))
    while at < total:
        count = rng.randint(1, 8)
        messages = []
        many = rng.random() < 0.5
        for event, payload in found[at:at + count]:
            kind = rng.choice(list(KINDS))
            messages.append({"id": str(uuid.UUID(int=rng.getrandbits(128), version=4)), "kind": kind, "many": many,
                             "type": f"{kind}.github.{event}.v1", "payload": payload, "as_text": rng.random() < 0.5,
                             "headers": {"x-github-event": event},
                             "key": f"repository-{rng.randrange(12)}" if rng.random() < 0.2 else None})
        at += count
        commit = rng.random() >= 1 / 3
        store.begin()
        store.enqueue(messages)
        store.end(commit)
        for message in messages:
            if commit:
                committed[message["id"]] = message
            else:
                rolled_back.add(message["id"])
        while deaths and at >= deaths[0]:
            deaths.pop(0)
            relay_dies()
    return committed, rolled_back


def check(folder: pathlib.Path, committed: dict, rolled_back: set, store) -> str:
    received: dict[str, int] = {}
    order: dict[str, list[str]] = {}
    body = b""
    for line in (folder / "received.ndjson").read_text().splitlines():
        got = json.loads(line)
        if "refused" in got:
            raise Wrong(f"the receiver refused {got['id']}: {got['refused']}")
        message = committed.get(got["id"])
        if message is None:
            raise Wrong(f"{got['id']} arrived, but was {'rolled back' if got['id'] in rolled_back else 'never enqueued'}")
        if "body" in got:
            body = base64.b64decode(got["body"])
        kind, payload = message["kind"], message["payload"]
        same = {"raw": body == payload, "binary": body == payload,
                "structured": body.endswith(b',"data":' + payload + b"}"),
                "batch": b',"data":' + payload + b"}" in body}[kind]
        if not same:
            raise Wrong(f"{got['id']} ({kind}): other bytes arrived")
        if got["data"] != json.loads(payload):
            raise Wrong(f"{got['id']} ({kind}): the receiver's package read another value")
        if got["type"] != message["type"] or got["path"] != f"/{kind}":
            raise Wrong(f"{got['id']}: type {got['type']} at {got['path']}, wanted {message['type']}")
        if kind != "batch" and (got["webhook_id"] != got["id"] or got["github_event"] != message["headers"]["x-github-event"]):
            raise Wrong(f"{got['id']}: its headers did not arrive")
        if kind not in ("raw",) and got.get("key") != message["key"]:
            raise Wrong(f"{got['id']}: partitionkey {got.get('key')}, wanted {message['key']}")
        if got["id"] not in received and message["key"]:
            order.setdefault(message["key"], []).append(got["id"])
        received[got["id"]] = received.get(got["id"], 0) + 1
    missing = set(committed) - set(received)
    if missing:
        raise Wrong(f"{len(missing)} of {len(committed)} committed messages never arrived, {sorted(missing)[0]} among them")
    for key, ids in order.items():
        wanted = [id_ for id_, message in committed.items() if message["key"] == key]
        if ids != wanted:
            raise Wrong(f"key {key}: arrived out of order")
    books = dict(store.ask("select status, count(*) from pillarbox.outbox group by status"))
    if books != {2: len(committed)}:
        raise Wrong(f"the outbox has {books} by status, wanted {len(committed)} dispatched")
    if {str(row[0]) for row in store.ask("select message_id from business")} != set(committed):
        raise Wrong("the business rows are not those of the committed messages")
    copies = sum(received.values()) - len(received)
    return f"{len(committed)} arrived, {len(rolled_back)} rolled back and none of them arrived, {copies} copies"


def run(arguments) -> str:
    rng = random.Random(arguments.seed)
    folder = pathlib.Path(arguments.folder).resolve()
    folder.mkdir(parents=True)
    secrets = ["whsec_" + base64.b64encode(rng.randbytes(24)).decode() for _ in range(2)]
    for name, secret in zip(("secret-new", "secret-old"), secrets):
        (folder / name).write_text(secret + "\n")
        (folder / name).chmod(0o600)
    store = Sqlite(folder) if arguments.store == "sqlite" else Postgresql(arguments.store, arguments.seed)
    receiver = start(["node", str(HERE / "receiver.mjs"), str(folder / "received.ndjson"), secrets[arguments.seed % 2],
                      str(arguments.seed + 1)], folder, "receiver.log", reads=True)
    relay = None
    try:
        port = receiver.stdout.readline().strip()
        if not port:
            raise Wrong(f"the receiver did not start: {(folder / 'receiver.log').read_text()[-500:]}")
        (folder / "pillarbox.toml").write_text(config(store.url, int(port), folder))
        subprocess.run([arguments.pillarbox, "migrate"], cwd=folder, check=True, stdin=subprocess.DEVNULL,
                       capture_output=True)
        store.connect()

        def new_relay() -> None:
            nonlocal relay
            if relay is not None:
                relay.send_signal(signal.SIGKILL)
                relay.wait()
            relay = start([arguments.pillarbox, "run"], folder, "relay.log")

        new_relay()
        committed, rolled_back = produce(store, rng, payloads(rng), new_relay)

        def drained() -> bool:
            if relay.poll() is not None:
                raise Wrong(f"the relay ended with {relay.returncode}, see relay.log")
            return store.ask("select count(*) from pillarbox.outbox where status in (0, 1)")[0][0] == 0

        wait_until("the relay to deliver everything", drained, 120)
        relay.send_signal(signal.SIGTERM)
        if relay.wait(timeout=40) != 0:
            raise Wrong(f"the relay ended with {relay.returncode} on SIGTERM")
        return check(folder, committed, rolled_back, store)
    finally:
        for process in (relay, receiver):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("pillarbox", "store", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    try:
        print(f"ok: seed {arguments.seed}: {run(arguments)}")
        return 0
    except (Wrong, subprocess.SubprocessError) as error:
        print(f"failed: seed {arguments.seed}, {arguments.store.split(':')[0]}: {error} (see {arguments.folder})")
        return 1


if __name__ == "__main__":
    sys.exit(main())
