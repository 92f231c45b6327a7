# SPDX-License-Identifier: Apache-2.0
"""The real relay and an endpoint that is slow but well. Repeats, attempts and the pace are counted by the endpoint and in the database.

slow_endpoint.py --pillarbox PROGRAM --store sqlite|URL --folder DIR [--case NAME] [--full]

Cases: steady (each answer takes as long), few (two connections, answers near the timeout), hung (one call in a hundred is never answered),
turn (the endpoint turns slow in the middle). Whatever the case, a message that was answered is not sent again, and only a call that was
never answered spends an attempt. The pace is printed and not judged: the time that connections and answers allow, divided by the time taken.
--full: the sizes that figures are quoted from; else short ones.
"""
import argparse
import asyncio
import collections
import dataclasses
import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from fresh_database import fresh_database  # noqa: E402

WORKERS = 2


@dataclasses.dataclass
class Case:
    messages: int
    connections: int  # of each worker
    answer: float  # seconds
    timeout: float
    hung_every: int = 0  # the first call for each so-manieth message is never answered
    turns_after: int = 0  # answers, from which on an answer takes `turned`
    turned: float = 0.0

    def seconds_of_work(self) -> float:
        hung = self.messages // self.hung_every if self.hung_every else 0
        slow = max(0, self.messages - self.turns_after) if self.turns_after else 0
        return (self.messages - slow) * self.answer + slow * self.turned + hung * self.timeout


FULL = {
    "steady": Case(messages=800, connections=16, answer=1.5, timeout=20),
    "few": Case(messages=20, connections=2, answer=5, timeout=8),
    "hung": Case(messages=3000, connections=16, answer=0.5, timeout=20, hung_every=100),
    "turn": Case(messages=3000, connections=16, answer=0.02, timeout=20, turns_after=2000, turned=1.5),
}
SHORT = {
    "steady": Case(messages=80, connections=4, answer=1.0, timeout=20),
    "few": Case(messages=10, connections=2, answer=2.5, timeout=4),
    "hung": Case(messages=200, connections=8, answer=0.2, timeout=3, hung_every=100),
    "turn": Case(messages=500, connections=8, answer=0.005, timeout=20, turns_after=400, turned=1.0),
}


class Wrong(Exception):
    pass


class Endpoint:
    def __init__(self, case: Case):
        self.case = case
        self.arrived: collections.Counter = collections.Counter()
        self.answered: collections.Counter = collections.Counter()
        self.hung: set[str] = set()
        self.answered_at: list[float] = []
        self.complete = asyncio.Event()
        self.connections: set[asyncio.Task] = set()

    async def close(self) -> None:
        for connection in self.connections:
            connection.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                body = await reader.readexactly(int(headers["content-length"]))
                await self.answer(headers["pillarbox-message-id"], json.loads(body)["n"])
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def answer(self, message_id: str, number: int) -> None:
        self.arrived[message_id] += 1
        case = self.case
        if case.hung_every and number % case.hung_every == 0 and message_id not in self.hung:
            self.hung.add(message_id)
            await asyncio.Event().wait()
        is_turned = case.turns_after and sum(self.answered.values()) >= case.turns_after
        await asyncio.sleep(case.turned if is_turned else case.answer)
        self.answered[message_id] += 1
        self.answered_at.append(time.monotonic())
        if len(self.answered) == case.messages:
            self.complete.set()


class Store:
    def __init__(self, store: str, folder: pathlib.Path):
        self.is_sqlite = store == "sqlite"
        if self.is_sqlite:
            self.url = f"sqlite:{folder / 'app.db'}"
        else:
            import psycopg
            self.psycopg = psycopg
            self.url = fresh_database("slow", store)

    def connect(self):
        return sqlite3.connect(self.url.removeprefix("sqlite:"), timeout=30) if self.is_sqlite else self.psycopg.connect(self.url)

    def fill(self, count: int) -> None:
        with self.connect() as db:
            for n in range(count):
                text = json.dumps({"n": n})
                if self.is_sqlite:
                    db.execute("insert into pillarbox_outbox (job_type, payload) values ('slow.v1', ?)", (text,))
                else:
                    db.execute("select pillarbox.enqueue('slow.v1', %s::text)", (text,))

    def ask(self, sql: str) -> list[tuple]:
        with self.connect() as db:
            return db.execute(sql.replace("pillarbox.", "pillarbox_") if self.is_sqlite else sql).fetchall()


def config(store: Store, port: int, case: Case) -> str:
    return f"""
[relay]
workers = {WORKERS}
[[outbox]]
name = "slow"
store = "{store.url}"
[sink.slow]
url = "http://127.0.0.1:{port}/"
allow_private_addresses = true
connections = {case.connections}
timeout = "{case.timeout * 1000:.0f}ms"
[[route]]
type = "*"
sink = "slow"
"""


async def run(args, name: str, case: Case) -> str:
    folder = args.folder / name
    folder.mkdir(parents=True)
    store = Store(args.store, folder)
    subprocess.run([args.pillarbox, "migrate", "--store", store.url], check=True, capture_output=True)
    store.fill(case.messages)
    endpoint = Endpoint(case)
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, backlog=512)
    port = server.sockets[0].getsockname()[1]
    path = folder / "pillarbox.toml"
    path.write_text(config(store, port, case))
    began = time.monotonic()
    with open(folder / "relay.log", "wb") as log:
        relay = subprocess.Popen([args.pillarbox, "run", "--config", path], stdout=log, stderr=log)
    try:
        possible = case.seconds_of_work() / (case.connections * WORKERS)
        await asyncio.wait_for(endpoint.complete.wait(), 3 * possible + 2 * case.timeout + 60)
    except asyncio.TimeoutError:
        raise Wrong(f"{len(endpoint.answered)} of {case.messages} were answered; log: {folder}/relay.log") from None
    finally:
        relay.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(relay.wait, 120)
        server.close()
        await endpoint.close()
    if code != 0:
        raise Wrong(f"the relay ended with {code}; log: {folder}/relay.log")
    return judge(store, endpoint, case, began, possible, (folder / "relay.log").read_text())


def judge(store: Store, endpoint: Endpoint, case: Case, began: float, possible: float, log: str) -> str:
    repeats = sum(n - 1 for n in endpoint.answered.values())
    arrivals = sum(endpoint.arrived.values())
    hung = len(endpoint.hung)
    states = dict(store.ask("select status, count(*) from pillarbox.outbox group by status"))
    spent = store.ask("select coalesce(sum(attempts - 1), 0) from pillarbox.outbox")[0][0]
    history = store.ask("select count(*) from pillarbox.attempt")[0][0]
    wrong = []
    if repeats:
        wrong.append(f"{repeats} messages were sent again though they had been answered")
    if arrivals != case.messages + hung:
        wrong.append(f"{arrivals} calls for {case.messages} messages and {hung} calls without an answer")
    if states != {2: case.messages}:
        wrong.append(f"statuses {states}")
    if spent != hung:
        wrong.append(f"{spent} attempts spent, not {hung}")
    if history != hung:
        wrong.append(f"{history} rows in the attempt history, not {hung}")
    if "breaker_opened" in log:
        wrong.append("the endpoint was taken for unavailable")
    if wrong:
        raise Wrong("; ".join(wrong))
    # What hung comes again after its timeout and its backoff: the pace is that of the others.
    counted = case.messages - hung
    seconds = sorted(endpoint.answered_at)[counted - 1] - began
    return (f"{case.messages} messages, 0 repeats, {spent} attempts spent, {seconds:.1f} s; {WORKERS * case.connections} connections allow "
            f"{possible:.1f} s: pace {100 * possible / seconds:.0f} %")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pillarbox", required=True)
    parser.add_argument("--store", default="sqlite")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--case", choices=FULL)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    failed = 0
    for name, case in (FULL if args.full else SHORT).items():
        if args.case and name != args.case:
            continue
        where = f"{args.store.split(':')[0]}, {name}"
        try:
            print(f"passed: {where}: {asyncio.run(run(args, name, case))}", flush=True)
        except Wrong as error:
            failed += 1
            print(f"FAILED: {where}: {error}", flush=True)
    sys.exit(1 if failed else 0)


main()
