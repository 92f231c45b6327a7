# SPDX-License-Identifier: Apache-2.0
"""Runs what the docs show: snippets are cut from examples, the examples run, and README's quick start does what it says.

Uses the tree that tests/install/run installed, and npm packages that tests/interop/run installed.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/install"))
from fresh_database import fresh_database  # noqa: E402

WORK = ROOT / "build/docs"
PREFIX = ROOT / "build/install/root"
PYTHON = "/usr/bin/python3"
ENVIRONMENT = {**os.environ, "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}", "HOME": str(WORK / "home")}
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run(*command: str, cwd: pathlib.Path = WORK, wanted: int | None = 0, **more) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, **more)
    if wanted is not None and done.returncode != wanted:
        raise AssertionError(f"{command} ended with {done.returncode}, wanted {wanted}:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def running(*command: str, cwd: pathlib.Path = WORK, log: pathlib.Path, ends_with_zero: bool = True):
    with open(log, "w") as out:
        process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
        if ends_with_zero:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=40) == 0, f"{command} ended with {process.returncode}: {log.read_text()[-2000:]}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def wait_for(what: str, condition, seconds: float = 30):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.02)


def folder(name: str) -> pathlib.Path:
    path = WORK / name
    path.mkdir(parents=True)
    return path


# ---- cases

def region_of(source: pathlib.Path, name: str) -> str:
    found = re.search(rf"^\s*(?:#|//|--) \[{name}\n(.*?)^\s*(?:#|//|--) {name}\]$", source.read_text(), re.S | re.M)
    assert found, f"{source} has no region {name}"
    return found[1]


def snippets_are_cut_from_examples() -> None:
    count = 0
    for page in DOCS:
        for source, name, text in re.findall(r"<!-- from (\S+): (\w+) -->\n```\w*\n(.*?)```", page.read_text(), re.S):
            count += 1
            assert text == region_of(ROOT / source, name), f"{page}: snippet differs from {source}, region {name}"
    assert count > 8, "snippets were not found"


def python_on_sqlite() -> None:
    at = folder("python-sqlite")
    run("pillarbox", "migrate", "--store", "sqlite:app.db", cwd=at)
    run(PYTHON, ROOT / "examples/python/register_sqlite.py", "ada@example.org", cwd=at)
    run(PYTHON, ROOT / "examples/python/register_sqlite.py", "ada@example.org", cwd=at, wanted=1)
    with contextlib.closing(sqlite3.connect(at / "app.db")) as db:
        rows = db.execute("select job_type, payload from pillarbox_outbox").fetchall()
    assert rows == [("email.welcome.v1", '{"account_id": 1}')], rows


def python_and_node_on_postgresql() -> None:
    import psycopg
    url = fresh_database("docs")
    run("pillarbox", "migrate", "--store", url)
    first = run(PYTHON, ROOT / "examples/python/register_postgresql.py", url, "ada@example.org").strip()
    run(PYTHON, ROOT / "examples/python/register_postgresql.py", url, "ada@example.org", wanted=1)
    run(PYTHON, ROOT / "examples/python/many_postgresql.py", url)
    second = run("node", at_node() / "register_postgresql.mjs", url, "bob@example.org").strip()
    with psycopg.connect(url) as db:
        rows = db.execute("select message_id::text, job_type, ordering_key from pillarbox.outbox order by id").fetchall()
    assert rows == [(first, "email.welcome.v1", None), *((rows[i][0], "order.placed.v1", f"order-{16 + i}") for i in (1, 2, 3)),
                    (second, "email.welcome.v1", None)], rows


def business_function_on_postgresql() -> None:
    import psycopg
    url = fresh_database("docs")
    run("pillarbox", "migrate", "--store", url)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute((ROOT / "examples/sql/attach_documents.sql").read_text())
        db.execute("insert into partner_document values (1, null), (2, null), (3, 99)")
        try:
            db.execute("select partner_documents_attach(7, '{1,3}')")
            raise AssertionError("a partial attach went through")
        except psycopg.errors.RaiseException:
            pass
        assert db.execute("select count(*) from pillarbox.outbox").fetchone() == (0,)
        assert db.execute("select count(*) from partner_document where user_id = 7").fetchone() == (0,)
        db.execute("select partner_documents_attach(7, '{1,2}')")
        assert db.execute("select count(*) from pillarbox.outbox").fetchone() == (1,)


def at_node() -> pathlib.Path:
    """The Node examples beside the installed packages."""
    at = WORK / "node"
    if not at.exists():
        at.mkdir(parents=True)
        for example in (ROOT / "examples/node").glob("*.mjs"):
            shutil.copy(example, at)
        (at / "node_modules").symlink_to(ROOT / "tests/interop/node_modules")
    return at


def port_of(log: pathlib.Path) -> str:
    return wait_for("the receiver's port", lambda: re.match(r"(\d+)\n", log.read_text()))[1]


def configure(at: pathlib.Path, sink: str) -> None:
    (at / "pillarbox.toml").write_text(f"""\
[[outbox]]
name = "shop"
store = "sqlite:app.db"

[sink.partner]
{sink}
allow_private_addresses = true

[[route]]
type = "*"
sink = "partner"
""")


def consumer_has_one_effect() -> None:
    at = folder("consumer")
    run("pillarbox", "migrate", "--store", "sqlite:app.db", cwd=at)
    with running(PYTHON, ROOT / "examples/python/consumer.py", "0", cwd=at, log=at / "consumer.log", ends_with_zero=False):
        configure(at, f'url = "http://127.0.0.1:{port_of(at / "consumer.log")}/"')
        run(PYTHON, ROOT / "examples/python/register_sqlite.py", "ada@example.org", cwd=at)

        def dispatched() -> bool:
            with contextlib.closing(sqlite3.connect(at / "app.db", timeout=30)) as db:
                return db.execute("select count(*) from pillarbox_outbox where status = 2").fetchone() == (1,)

        with running("pillarbox", "run", cwd=at, log=at / "relay.log"):
            wait_for("the delivery", dispatched)
            # As if the mark had been lost: it comes a second time.
            with contextlib.closing(sqlite3.connect(at / "app.db", timeout=30)) as db, db:
                db.execute("update pillarbox_outbox set status = 0, dispatched_at = null")
            wait_for("the second delivery", dispatched)
    with contextlib.closing(sqlite3.connect(at / "mail.db")) as db:
        assert db.execute("select account_id from sent").fetchall() == [(1,)]


def node_verifies_signatures() -> None:
    at = folder("verify")
    secret = run("sh", "-c", 'echo "whsec_$(openssl rand -base64 24)"').strip()
    (at / "secret").write_text(secret)
    (at / "secret").chmod(0o600)
    run("pillarbox", "migrate", "--store", "sqlite:app.db", cwd=at)
    run(PYTHON, ROOT / "examples/python/register_sqlite.py", "ada@example.org", cwd=at)
    log = at / "receiver.log"
    with running("node", at_node() / "verify_webhook.mjs", secret, cwd=at, log=log, ends_with_zero=False):
        configure(at, f'url = "http://127.0.0.1:{port_of(log)}/"\nsign = "standard-webhooks"\nsecrets = [{{ file = "secret" }}]')
        with running("pillarbox", "run", cwd=at, log=at / "relay.log"):
            wait_for("a verified message", lambda: '{"account_id": 1}' in log.read_text())


def quick_start_of_the_readme() -> None:
    home = WORK / "home"
    blocks = dict(re.findall(r"<!-- run: (\w+) -->\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S))
    assert list(blocks) == ["install", "setup", "relay", "python", "cpp"], list(blocks)
    home.mkdir(parents=True)
    run("bash", "-euc", blocks["setup"], cwd=home)
    python = re.search(r"<!-- from examples/python/register_sqlite.py: register -->\n```python\n(.*?)```",
                       (ROOT / "README.md").read_text(), re.S)[1]
    (home / "shop/register.py").write_text("import json, sqlite3, sys\n" + python)
    screen = WORK / "screen.log"
    with running("bash", "-c", blocks["relay"].replace("pillarbox run", "exec pillarbox run"), cwd=home, log=screen):
        def shown() -> list[dict]:
            lines = (line for line in screen.read_text().splitlines() if line.startswith('{"message_id"'))
            return [json.loads(line) for line in lines]

        run("bash", "-euc", blocks["python"], cwd=home)
        wait_for("the message from Python", lambda: len(shown()) == 1)
        run("bash", "-euc", blocks["python"], cwd=home, wanted=1)
        run("bash", "-euc", blocks["cpp"].replace("/usr/local", str(PREFIX)).replace("build/examples", str(WORK / "examples")),
            cwd=ROOT)
        wait_for("the message from C++", lambda: len(shown()) == 2)
        assert [message["job_type"] for message in shown()] == ["email.welcome.v1"] * 2
        assert [message["payload"] for message in shown()] == ['{"account_id": 1}', '{"account_id": 2}']
    run("pillarbox", "list", cwd=home / "shop")
    run("pillarbox", "status", cwd=home / "shop")


CASES = [snippets_are_cut_from_examples, python_on_sqlite, python_and_node_on_postgresql, business_function_on_postgresql,
         consumer_has_one_effect, node_verifies_signatures, quick_start_of_the_readme]


def main() -> int:
    subprocess.run([ROOT / "tests/interop/packages"], check=True, stdin=subprocess.DEVNULL, timeout=600)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    failed = 0
    for case in CASES:
        name = case.__name__.replace("_", " ")
        try:
            case()
            print(f"passed: {name}", flush=True)
        except Exception as error:  # each case stands alone: say what went wrong and go on
            failed += 1
            print(f"failed: {name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
