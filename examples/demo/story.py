# SPDX-License-Identifier: Apache-2.0
"""story.py PILLARBOX FOLDER [--short]: tells what an outbox is for, with real processes, real kills and real figures."""
import contextlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PILLARBOX = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(sys.argv[2])
SHORT = "--short" in sys.argv[3:]
KILLS = 60 if SHORT else 300
RELAYS = 2
PYTHON = [sys.executable, "-S", "-E"]
CONFIG = """\
[[outbox]]
name = "shop"
store = "sqlite:app.db"

[relay]
workers = 2
batch_size = 20
lease = "12s"

[retry]
max_attempts = 4
base = "100ms"
cap = "1s"

[sink.mailer]
url = "http://127.0.0.1:{port}/"
timeout = "2s"
allow_private_addresses = true

[[route]]
type = "email.*"
sink = "mailer"
"""
figures: list[tuple[str, str, bool, str]] = []  # what, figure, as it should be, how to check it


def say(text: str = "") -> None:
    print(text, flush=True)


def figure(what: str, value, wanted, check: str = "") -> None:
    figures.append((what, str(value), wanted(value) if callable(wanted) else value == wanted, check))


def start(command: list[str], log: str) -> subprocess.Popen:
    return subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=open(FOLDER / log, "ab"), start_new_session=True)


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def pillarbox(*arguments: str) -> str:
    done = subprocess.run([PILLARBOX, *arguments], cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"pillarbox {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    return done.stdout


def ask(database: str, sql: str, *parameters):
    with contextlib.closing(sqlite3.connect(FOLDER / database, timeout=30)) as db:
        return db.execute(sql, parameters).fetchone()[0]


def rows(database: str, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(FOLDER / database, timeout=30)) as db:
        return db.execute(sql).fetchall()


def tell(database: str, sql: str, *parameters) -> None:
    with contextlib.closing(sqlite3.connect(FOLDER / database, timeout=30)) as db:
        db.execute(sql, parameters)
        db.commit()


def wait_until(what: str, condition, seconds: float = 60) -> float:
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > seconds:
            raise SystemExit(f"waited {seconds:.0f} s for: {what}")
        time.sleep(0.02)
    return time.monotonic() - begun


def pending() -> int:
    return ask("app.db", "select count(*) from pillarbox_outbox where status <= 1")


def lives_of_the_service(mode: str, count: int, also=lambda number: None) -> None:
    """Starts the registration service and kills it at a random moment of its work, `count` times."""
    for number in range(1, count + 1):
        service = start([*PYTHON, str(HERE / "registration.py"), mode, str(number)], "registration.log")
        service.stdout.readline()
        time.sleep(random.uniform(0.004, 0.04))
        kill(service)
        also(number)


def start_mailer(port: int = 0) -> tuple[subprocess.Popen, int]:
    mailer = start([*PYTHON, str(HERE / "mailer.py"), str(port)], "mailer.log")
    line = mailer.stdout.readline()
    if not line:
        raise SystemExit(f"the mailer did not start: see {FOLDER}/mailer.log")
    return mailer, int(line)


def start_relay() -> subprocess.Popen:
    return start([PILLARBOX, "run"], "relay.log")


def without_pillarbox() -> None:
    say(f"A  Two databases, no common transaction: {KILLS} times the registration service is killed with SIGKILL,")
    say("   each time at some moment of its work.")
    for mode in ("commit-then-enqueue", "enqueue-then-commit"):
        lives_of_the_service(mode, KILLS // 2)
    with contextlib.closing(sqlite3.connect(FOLDER / "app.db")) as db:
        db.execute("attach 'jobs.db' as jobs".replace("jobs.db", str(FOLDER / "jobs.db")))
        for mode in ("commit-then-enqueue", "enqueue-then-commit"):
            accounts = db.execute("select count(*) from account where mode = ?", (mode,)).fetchone()[0]
            silent = db.execute("select count(*) from account a where mode = ? and not exists "
                                "(select 1 from jobs.job j where j.email = a.email)", (mode,)).fetchone()[0]
            ghosts = db.execute("select count(*) from jobs.job j where mode = ? and not exists "
                                "(select 1 from account a where a.email = j.email)", (mode,)).fetchone()[0]
            words = mode.replace("-then-", ", then ")
            say(f"   {words:22} {accounts:6} accounts: {silent:4} without an email, {ghosts:4} emails without an account")
            if mode == "commit-then-enqueue":
                figure("A: accounts without an email (commit, then enqueue)", silent, lambda n: n > 0)
            else:
                figure("A: emails without an account (enqueue, then commit)", ghosts, lambda n: n > 0)
    say()


def with_pillarbox(relays: list[subprocess.Popen]) -> None:
    say(f"B  The same {KILLS} kills with Pillarbox: account and message are one transaction. {RELAYS} relays deliver to a mailer")
    say("   over HTTP, and they are killed in the middle of their work too.")
    relay_kills = 0

    def kill_a_relay(number: int) -> None:
        nonlocal relay_kills
        if number % 20 != 0:
            return
        # In the middle of its work: the one that holds a claim now.
        end = time.monotonic() + 1
        while time.monotonic() < end:
            holders = {int(row[0].split(":")[1]) for row in rows("app.db", (
                "select claimed_by from pillarbox_outbox where status = 1 and locked_until > "
                "(select now_ms + 11000 from pillarbox_clock)"))}
            held = [at for at, relay in enumerate(relays) if relay.pid in holders]
            if held:
                kill(relays[held[0]])
                relays[held[0]] = start_relay()
                relay_kills += 1
                return

    lives_of_the_service("outbox", KILLS, also=kill_a_relay)
    waited = wait_until("the relays to deliver everything, a killed relay's lease being 12 s", lambda: pending() == 0)
    with contextlib.closing(sqlite3.connect(FOLDER / "app.db")) as db:
        db.execute(f"attach '{FOLDER / 'mail.db'}' as mail")
        accounts = db.execute("select count(*) from account where mode = 'outbox'").fetchone()[0]
        silent = db.execute("select count(*) from account a where mode = 'outbox' and not exists "
                            "(select 1 from mail.sent s where s.email = a.email)").fetchone()[0]
        ghosts = db.execute("select count(*) from mail.sent s where not exists "
                            "(select 1 from account a where a.email = s.email)").fetchone()[0]
        copies = db.execute("select coalesce(sum(copies - 1), 0) from mail.inbox").fetchone()[0]
        twice = db.execute("select count(*) from (select 1 from mail.sent group by email having count(*) > 1)").fetchone()[0]
    say(f"   one transaction        {accounts:6} accounts: {silent:4} without an email, {ghosts:4} emails without an account")
    say(f"   {relay_kills} relays killed; {copies} messages came more than once and the inbox absorbed them: {twice} emails sent twice.")
    say(f"   What a killed relay held came when its lease of 12 s had run out: the last of it after {waited:.0f} s.")
    say()
    figure("B: accounts registered", accounts, lambda n: n > 0, "pillarbox list --filter status:dispatched -o id | wc -l")
    figure("B: accounts without an email", silent, 0)
    figure("B: emails without an account", ghosts, 0)
    figure("B: repeated deliveries, all absorbed by the inbox", copies, lambda n: n > 0)
    figure("B: emails sent twice", twice, 0)


def enqueue(email: str, **more) -> None:
    tell("app.db", "insert into pillarbox_outbox (job_type, payload, correlation_id) values ('email.welcome.v1', ?, ?)",
         json.dumps({"email": email, **more}), more.get("template"))


def sent(pattern: str) -> int:
    return ask("mail.db", "select count(*) from sent where email glob ?", pattern)


def bad_days(mailer: subprocess.Popen, port: int) -> subprocess.Popen:
    say("C  Bad days")
    enqueue("poison@example.org", template="newsletter-2019")
    dead = "select count(*) from pillarbox_outbox where status = 3"
    wait_until("the poison message to die", lambda: ask("app.db", dead) == 1)
    poison = ask("app.db", "select id from pillarbox_outbox where status = 3")
    history = ask("app.db", "select count(*) from pillarbox_attempt where outbox_id = ?", poison)
    say(f"   A message that no one can handle: tried {history} times, then dead, with its history (pillarbox show {poison}):")
    lines = pillarbox("show", str(poison), "-o", "table").splitlines()
    for line in lines[-history - 1:]:
        say(f"     {line[:130].rstrip()}")
    figure("C: attempts before the poison message died", history, 4, f"pillarbox show {poison}")

    kill(mailer)
    for number in range(50):
        enqueue(f"outage-{number}@example.org")
    wait_until("the relays to notice", lambda: ask(
        "app.db", "select count(*) from pillarbox_outbox where status = 0 and last_error is not null") > 0)
    time.sleep(3)
    say("   The mailer is down for 3 s and 50 people register. pillarbox status says:")
    for line in pillarbox("status").splitlines():
        say(f"     {line}")
    died = ask("app.db", dead) - 1
    mailer, _ = start_mailer(port)
    waited = wait_until("the 50 to arrive", lambda: sent("outage-*") == 50)
    say(f"   It is up again: all 50 arrived within {waited:.1f} s, {died} died, {sent('outage-*') - 50} came twice.")
    figure("C: messages that died of the outage", died + ask("app.db", dead) - 1, 0, "pillarbox dead list")
    figure("C: of 50 messages, arrived after it", sent("outage-*"), 50)

    pillarbox("pause", "--type", "email.*", "--reason", "the demo's brake")
    for number in range(20):
        enqueue(f"brake-{number}@example.org")
    time.sleep(2)
    during = sent("brake-*")
    pillarbox("resume", "--type", "email.*")
    wait_until("the 20 to arrive", lambda: sent("brake-*") == 20)
    say(f"   The brake is on for 2 s and 20 people register: {during} sent. It is off: {sent('brake-*')} sent.")
    figure("C: sent while the brake was on", during, 0)
    figure("C: sent when it was off again", sent("brake-*"), 20)

    (FOLDER / "template-mended").touch()
    pillarbox("replay", str(poison), "--reason", "template mended", "--yes")
    wait_until("the replayed message", lambda: sent("poison@*") == 1)
    wait_until("its end", lambda: pending() == 0)
    life = ask("app.db", "select life from pillarbox_outbox where id = ?", poison)
    say(f"   The template is mended and the dead letter replayed: sent, in its life number {life + 1}.")
    figure("C: dead letters left", ask("app.db", dead), 0, "pillarbox list --filter status:dead")
    say()
    return mailer


def stop_relays(relays: list[subprocess.Popen]) -> None:
    for relay in relays:
        relay.send_signal(signal.SIGTERM)
    codes = []
    for relay in relays:
        try:
            codes.append(relay.wait(timeout=30))
        except subprocess.TimeoutExpired:
            kill(relay)
            codes.append("killed")
    figure("C: relays that drained and ended with 0 on SIGTERM", codes.count(0), RELAYS)


def table() -> int:
    total = ask("app.db", "select count(*) from pillarbox_outbox")
    listed = len(pillarbox("list", "--filter", "status:dispatched", "--limit", "500", "-o", "id").split())
    done = ask("app.db", "select count(*) from pillarbox_outbox where status = 2")
    figure("messages enqueued", total, lambda n: n > 0)
    figure("messages dispatched", done, total, "pillarbox status")
    figure("pillarbox list agrees (it lists 500 at most)", listed, min(done, 500), "pillarbox list --filter status:dispatched")
    width = max(len(what) for what, *_ in figures)
    say("Figures")
    for what, value, right, check in figures:
        say(f"   {what:{width}}  {value:>6}  {'as it should be' if right else 'WRONG'}{'   ' + check if check else ''}")
    say()
    say("Look for yourself:")
    say(f"   cd {os.path.relpath(FOLDER)} && {os.path.relpath(PILLARBOX, FOLDER)} list")
    return sum(not right for _, _, right, _ in figures)


def main() -> int:
    begun = time.monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for database, sql in (("app.db", "create table account (email text primary key, mode text not null)"),
                          ("jobs.db", "create table job (job_type text, email text not null, mode text not null)"),
                          ("mail.db", "create table inbox (message_id text primary key, copies integer not null default 1)"),
                          ("mail.db", "create table sent (email text not null)")):
        tell(database, "pragma journal_mode = wal")
        tell(database, sql)
    say()
    without_pillarbox()
    mailer, port = start_mailer()
    (FOLDER / "pillarbox.toml").write_text(CONFIG.format(port=port))
    pillarbox("migrate")
    relays = [start_relay() for _ in range(RELAYS)]
    try:
        with_pillarbox(relays)
        mailer = bad_days(mailer, port)
        stop_relays(relays)
    finally:
        for process in [*relays, mailer]:
            if process.poll() is None:
                kill(process)
    wrong = table()
    if "--count" in sys.argv:
        say(f"{len(figures) - wrong} passed, {wrong} failed, 0 skipped")
    else:
        say(f"{time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
