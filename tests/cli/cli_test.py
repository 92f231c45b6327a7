#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cli_test.py PROGRAM RESULTS_XML: runs the real program on real SQLite outboxes, as a person and as a script would."""
import json
import os
import pathlib
import pty
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
CASES = []


def case(function):
    CASES.append(function)
    return function


class Desk:
    """A folder with an outbox, and the program at hand."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.env = {**CLEAN, "PILLARBOX_STORE": "sqlite:app.db"}

    def run(self, *words, code=0, stdin="", env=None):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, env={**self.env, **(env or {})}, input=stdin, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == code, f"{words}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}"
        return done

    def ask(self, sql, *values):
        with sqlite3.connect(self.folder / "app.db", timeout=30) as db:
            return db.execute(sql, values).fetchall()

    def migrated(self):
        self.run("migrate")
        return self

    def start(self, *words):
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, what):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if condition():
            return
        os.sched_yield()
    raise AssertionError(f"timed out: {what}")


def dead_message(desk, job_type="email.v1"):
    """A message that its sink refuses for good: one attempt, then dead."""
    desk.run("enqueue", job_type, '{"n":1}')
    relay = desk.start("--sink", "file:/dev/full", "--set", "retry.max_attempts=1", "run")
    return relay


@case
def a_message_travels_from_enqueue_to_its_sink(desk):
    desk.migrated()
    message_id = desk.run("enqueue", "email.welcome.v1", '{"user":17}', "--key", "u-17", "-H", "tenant: acme").stdout.strip()
    relay = desk.start("--sink", "file:out.jsonl", "run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 2") == [(1,)], "dispatched")
    relay.send_signal(signal.SIGTERM)
    assert relay.wait(60) == 0, relay.stderr.read()
    line = json.loads((desk.folder / "out.jsonl").read_text())
    assert line["message_id"] == message_id and line["payload"] == '{"user":17}' and line["headers"] == {"tenant": "acme"}
    events = [json.loads(l) for l in relay.stderr.read().splitlines()]
    assert {"relay_started", "relay_draining", "relay_stopped"} <= {e["msg"] for e in events}
    shown = json.loads(desk.run("show", message_id, "--json", "--payload").stdout)
    assert shown["status"] == "dispatched" and shown["payload"] == '{"user":17}'


@case
def the_same_id_twice_is_one_message(desk):
    desk.migrated()
    an_id = "0190a1b2-c3d4-7ef0-8123-456789abcdef"
    for _ in range(2):
        assert desk.run("enqueue", "a.v1", "{}", "--id", an_id).stdout.strip() == an_id
    assert desk.ask("select count(*) from pillarbox_outbox") == [(1,)]


@case
def a_payload_comes_from_a_word_a_file_or_standard_input(desk):
    desk.migrated()
    (desk.folder / "p.json").write_text('{"from":"file"}')
    desk.run("enqueue", "a.v1", "@p.json")
    desk.run("enqueue", "a.v1", "-", stdin='{"from":"stdin"}')
    desk.run("enqueue", "a.v1", "--ndjson", stdin='{"n":1}\n{"n":2}\n')
    payloads = {r[0] for r in desk.ask("select payload from pillarbox_outbox")}
    assert payloads == {'{"from":"file"}', '{"from":"stdin"}', '{"n":1}', '{"n":2}'}, payloads
    assert "p2.json" in desk.run("enqueue", "a.v1", "@p2.json", code=2).stderr


@case
def bad_messages_are_refused_with_a_code_and_nothing_is_written(desk):
    desk.migrated()
    assert "PBX-1009" in desk.run("enqueue", "a.v1", "{", code=1).stderr
    assert "PBX-1003" in desk.run("enqueue", "x" * 201, "{}", code=1).stderr
    assert "PBX-1001" in desk.run("enqueue", "", "{}", code=1).stderr
    assert desk.ask("select count(*) from pillarbox_outbox") == [(0,)]


@case
def a_payload_that_looks_like_a_secret_is_pointed_out(desk):
    desk.migrated()
    assert '"password"' in desk.run("enqueue", "a.v1", '{"password":"x"}').stderr


@case
def exit_codes_say_what_kind_of_trouble_it_was(desk):
    desk.run(code=2)
    desk.run("help")
    assert "pillarbox migrate" in desk.run("status", code=4).stderr
    desk.ask("create table mine (x)")  # a database, and no outbox in it
    assert "pillarbox migrate" in desk.run("status", code=5).stderr
    desk.migrated()
    desk.run("show", "999", code=7)
    desk.run("show", "0190a1b2-c3d4-7ef0-8123-456789abcdef", code=7)
    desk.run("show", "x", code=2)
    desk.run("status", "--store", "sqlite:no/such/folder/app.db", code=4)
    desk.run("status", "--store", "oracle:x", code=3)
    desk.run("status", "--store", "postgresql://127.0.0.1:1/x", "--timeout", "2s", code=4)
    desk.run("resume", "--all", code=7)
    desk.run("relay", "drain", "nobody", code=7)


@case
def a_misspelt_word_gets_the_right_one_suggested(desk):
    assert "did you mean list?" in desk.run("lsit", code=2).stderr
    assert "did you mean --filter?" in desk.run("list", "--fliter", "x", code=2).stderr
    assert 'did you mean "dead"?' in desk.migrated().run("list", "--filter", "status:daed", code=2).stderr
    assert "table|tsv|json|ndjson|id" in desk.run("list", "-o", "xml", code=2).stderr
    assert "does not take --delay" in desk.run("list", "--delay", "5s", code=2).stderr
    assert "as in 500ms" in desk.run("enqueue", "a.v1", "{}", "--delay", "5", code=2).stderr
    assert 'did you mean "filters"?' in desk.run("help", "filter", code=2).stderr


@case
def flags_may_stand_anywhere_and_two_dashes_end_them(desk):
    desk.migrated()
    desk.run("--key", "k", "enqueue", "a.v1", "--", "-1")
    assert desk.ask("select payload, ordering_key from pillarbox_outbox") == [("-1", "k")]


@case
def results_have_five_forms(desk):
    desk.migrated()
    desk.run("enqueue", "a.v1", "{}")
    desk.run("enqueue", "b.v1", "{}")
    assert desk.run("list").stdout.splitlines()[0].split("\t")[:3] == ["id", "message_id", "job_type"]
    listed = json.loads(desk.run("list", "--json").stdout)
    assert [i["job_type"] for i in listed["items"]] == ["b.v1", "a.v1"] and listed["next"] is None
    assert all(isinstance(i["id"], str) for i in listed["items"])
    assert len([json.loads(l) for l in desk.run("list", "-o", "ndjson").stdout.splitlines()]) == 2
    assert desk.run("list", "-o", "id").stdout.split() == ["2", "1"]
    assert desk.run("list", "-o", "table").stdout.startswith("id ")
    page = json.loads(desk.run("list", "--json", "--limit", "1").stdout)
    assert json.loads(desk.run("list", "--json", "--before", page["next"]).stdout)["items"][0]["job_type"] == "a.v1"


@case
def a_stored_text_cannot_steer_a_terminal(desk):
    desk.migrated()
    desk.run("enqueue", "a.v1", "{}", "-H", "x:\x1b[2Jy")
    assert "\x1b" not in desk.run("list").stdout + desk.run("show", "1").stdout


@case
def a_dead_letter_is_found_by_cause_and_replayed_as_a_new_life(desk):
    desk.migrated()
    relay = dead_message(desk)
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 3 or attempts > 0 or last_error is not null")[0][0] > 0, "tried")
    relay.kill()
    relay.wait()
    # However the full disk was judged, make it dead by an expiry, which needs no sink.
    desk.run("enqueue", "gone.v1", "{}", "--expires-in", "1ms")
    relay = desk.start("--sink", "null:", "run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 3 and job_type = 'gone.v1'") == [(1,)], "expired")
    relay.terminate()
    assert relay.wait(60) == 0
    groups = json.loads(desk.run("dead", "groups", "--json").stdout)["items"]
    assert ("gone.v1", "expired", 1) in [(g["job_type"], g["reason"], g["count"]) for g in groups]
    an_id = desk.run("dead", "list", "--filter", "type:gone.v1", "-o", "id").stdout.strip()
    assert "would replay 1 of 1" in desk.run("replay", an_id, "--dry-run").stderr
    exported = [json.loads(l) for l in desk.run("dead", "export").stdout.splitlines()]
    assert any(e["payload"] == "{}" for e in exported)
    desk.run("replay", an_id, "--reason", "test")
    shown = json.loads(desk.run("show", an_id, "--json").stdout)
    assert shown["life"] == 1 and shown["attempts"] == 0 and shown["status"] in ("ready", "delayed"), shown
    assert "replayed" in [a["outcome"] for a in shown["attempts_history"]]
    assert desk.ask("select action, why from pillarbox_audit") == [("replay", "test")]


@case
def destroying_asks_first_and_keeps_a_tombstone(desk):
    desk.migrated()
    desk.run("enqueue", "a.v1", '{"k":1}')
    desk.run("discard", "1", code=9)
    desk.run("discard", "1", "--no-input", code=9)
    desk.run("discard", "--yes", code=2)
    assert desk.ask("select count(*) from pillarbox_outbox") == [(1,)]
    desk.run("discard", "1", "--yes", "--reason", "wrong", "--export", "gone.ndjson")
    assert json.loads((desk.folder / "gone.ndjson").read_text())["payload"] == '{"k":1}'
    assert desk.ask("select count(*) from pillarbox_outbox") == [(0,)]
    assert desk.ask("select discard_reason from pillarbox_dead_letter") == [("wrong",)]
    desk.run("enqueue", "a.v1", "{}")
    desk.run("discard", "2", "--yes", "--export", "/nonexistent/x", code=1)
    assert desk.ask("select count(*) from pillarbox_outbox") == [(1,)]


@case
def at_a_terminal_a_no_changes_nothing_and_a_yes_does(desk):
    desk.migrated()
    desk.run("enqueue", "a.v1", "{}")
    for answer, code, left in (("n\n", 9, 1), ("y\n", 0, 0)):
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, "discard", "1"], cwd=desk.folder, env=desk.env, stdin=slave, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)
        os.close(slave)
        os.write(master, answer.encode())
        assert process.wait(60) == code, process.stderr.read()
        os.close(master)
        assert desk.ask("select count(*) from pillarbox_outbox") == [(left,)]


@case
def ids_travel_through_a_pipe(desk):
    desk.migrated()
    for _ in range(3):
        desk.run("enqueue", "a.v1", "{}")
    ids = desk.run("list", "--filter", "status:pending", "-o", "id").stdout
    assert "would discard 3 of 3" in desk.run("discard", "--ids", "-", "--dry-run", stdin=ids).stderr
    desk.run("discard", "--ids", "-", "--yes", stdin=ids)
    assert desk.ask("select count(*) from pillarbox_outbox") == [(0,)]


@case
def the_brake_holds_while_producers_go_on(desk):
    desk.migrated()
    desk.run("pause", "--type", "email.*", "--reason", "provider down")
    desk.run("enqueue", "email.v1", "{}")
    desk.run("enqueue", "other.v1", "{}")
    relay = desk.start("--sink", "file:out.jsonl", "run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 2") == [(1,)], "the other type")
    status = json.loads(desk.run("status", "--json").stdout)
    assert status["braked"] == 1 and status["brakes"] == ["type:email.*"] and "provider down" in status["cause"]
    desk.run("resume", "--type", "email.*")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 2") == [(2,)], "the braked type")
    relay.terminate()
    assert relay.wait(60) == 0
    desk.run("pause", code=2)
    assert "PBX-1012" in desk.run("pause", "--type", "a*b", code=1).stderr


@case
def a_type_without_a_route_is_held_and_shown(desk):
    desk.migrated()
    (desk.folder / "pillarbox.toml").write_text(
        '[[outbox]]\nstore = "sqlite:app.db"\n[sink.out]\nurl = "file:out.jsonl"\n[[route]]\ntype = "email.*"\nsink = "out"\n')
    del desk.env["PILLARBOX_STORE"]
    desk.run("enqueue", "report.v1", "{}")
    desk.run("enqueue", "email.v1", "{}")
    relay = desk.start("run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_outbox where status = 2") == [(1,)], "the routed one")
    status = json.loads(desk.run("status", "--json").stdout)
    assert status["unroutable"] == [{"job_type": "report.v1", "waiting": 1}], status
    assert "report.v1" in desk.run("doctor").stdout
    relay.terminate()
    assert relay.wait(60) == 0
    assert desk.ask("select status, attempts from pillarbox_outbox where job_type = 'report.v1'") == [(0, 0)]


@case
def a_refused_configuration_names_every_problem_and_starts_nothing(desk):
    del desk.env["PILLARBOX_STORE"]
    (desk.folder / "pillarbox.toml").write_text('[[outbox]]\nstore = "sqlite:app.db"\n[relay]\nbatchsize = 1\nworkers = 0\n')
    told = desk.run("run", code=3).stderr
    assert 'pillarbox.toml:4:1  unknown key "relay.batchsize"; did you mean "batch_size"?' in told, told
    assert "2 problems. Nothing was started." in told and "PBX-2003" in told
    (desk.folder / "pillarbox.toml").write_text(desk.run("config", "init").stdout)
    desk.run("config", "check")
    shown = desk.run("config", "show", env={"PILLARBOX_RELAY__WORKERS": "3"}).stdout
    assert "relay.workers\t3\tenvironment PILLARBOX_RELAY__WORKERS" in shown
    assert "did you mean relay.workers?" in desk.run("config", "show", "--set", "relay.wrokers=3", code=2).stderr


@case
def no_secret_is_ever_shown(desk):
    url = "postgresql://u:hunter2@127.0.0.1:1/x?sslpassword=hunter2"
    for words in (("status",), ("doctor",), ("config", "show"), ("config", "check")):
        done = subprocess.run([PROGRAM, *words, "--store", url, "--timeout", "2s"], cwd=desk.folder, env=desk.env, text=True,
                              capture_output=True, timeout=60)
        assert "hunter2" not in done.stdout + done.stderr, done


@case
def a_check_fails_loudly_when_nobody_delivers(desk):
    desk.migrated()
    desk.run("status", "--check")
    desk.run("enqueue", "a.v1", "{}")
    assert "no relay is alive" in desk.run("status", "--check", code=6).stderr


@case
def the_schema_can_be_planned_printed_and_verified(desk):
    assert "would apply 1" in desk.run("migrate", "--dry-run").stderr
    assert not desk.ask("select 1 from sqlite_master where name = 'pillarbox_outbox'")
    assert "create table if not exists pillarbox_outbox" in desk.run("migrate", "sql").stdout.lower()
    desk.run("migrate", "status", code=5)
    desk.migrated()
    desk.run("migrate", "status")
    desk.run("migrate", "verify")
    assert "nothing to apply" in desk.run("migrate").stderr
    desk.ask("drop index pillarbox_outbox_due" if desk.ask("select 1 from sqlite_master where name = 'pillarbox_outbox_due'") else
             "update pillarbox_schema_migration set checksum = 'x'")
    desk.run("migrate", "verify", code=6)


@case
def a_reader_that_leaves_early_is_no_error(desk):
    desk.migrated()
    for _ in range(3):
        desk.run("enqueue", "a.v1", "{}")
    process = desk.start("list", "-o", "ndjson")
    process.stdout.close()
    assert process.wait(60) == 0


@case
def a_relay_can_be_asked_to_drain(desk):
    desk.migrated()
    relay = desk.start("--sink", "null:", "--set", "relay.heartbeat_interval=1s", "run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_relay") == [(1,)], "heartbeat")
    name = json.loads(desk.run("relay", "list", "--json").stdout)["items"][0]["claimed_by"]
    desk.run("relay", "drain", name)
    assert relay.wait(60) == 0
    assert desk.ask("select count(*) from pillarbox_relay") == [(0,)]


@case
def the_reference_in_the_docs_is_what_the_program_prints(desk):
    for words, name in ((("help", "reference"), "cli.md"), (("config", "keys"), "config.md")):
        assert desk.run(*words).stdout == (SOURCE / "docs/reference" / name).read_text(), (
            f"docs/reference/{name} is out of date: pillarbox {' '.join(words)} > docs/reference/{name}")


@case
def every_command_has_help_and_every_shell_completes(desk):
    for line in desk.run("help").stdout.splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            command = line.strip().split("  ")[0].split()
            assert "Usage: pillarbox" in desk.run(*command, "--help").stdout
    script = desk.run("completion", "bash").stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=60)
    desk.run("completion", "fish")
    desk.run("completion", "zsh")
    desk.run("completion", "tcsh", code=2)


@case
def the_demo_tells_its_story(desk):
    told = desk.run("demo").stdout
    assert "100 messages enqueued, 100 delivered." in told and "0 died of it" in told and "50 delivered" in told, told


@case
def an_idle_relay_is_small(desk):
    if any("SAN" in name for name in CLEAN) or "sanitize" in str(PROGRAM):
        return
    desk.migrated()
    relay = desk.start("--sink", "null:", "run")
    wait_for(lambda: desk.ask("select count(*) from pillarbox_relay") == [(1,)], "heartbeat")
    status = pathlib.Path(f"/proc/{relay.pid}/status").read_text()
    resident = next(int(l.split()[1]) for l in status.splitlines() if l.startswith("VmRSS:"))
    relay.terminate()
    relay.wait(60)
    if not any(p in str(PROGRAM) for p in ("/asan/", "/tsan/", "/coverage/")):
        assert resident < 20 * 1024, f"{resident} KiB"


def main():
    suite = ElementTree.Element("testsuite", name="cli")
    failed = 0
    wanted = sys.argv[3:]
    for function in CASES:
        if wanted and function.__name__ not in wanted:
            continue
        entry = ElementTree.SubElement(suite, "testcase", classname="Cli", name=function.__name__, status="run")
        with tempfile.TemporaryDirectory(prefix="pillarbox-cli-") as folder:
            try:
                function(Desk(folder))
            except Exception as error:  # each case must be told, also one that broke
                failed += 1
                print(f"failed: {function.__name__}\n{traceback.format_exc(limit=4)}\n{error}")
                ElementTree.SubElement(entry, "failure", message=str(error)[:2000])
    pathlib.Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(sys.argv[2])
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
