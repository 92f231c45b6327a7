# SPDX-License-Identifier: Apache-2.0
"""mailer.py PORT: takes messages over HTTP and "sends" e-mails: one row in mail.db each.

Delivery is at least once, so it keeps an inbox: the ids of the messages that it has handled, in the same transaction as the
effect. A message that comes again is acknowledged and nothing is done.
"""
import http.server
import json
import pathlib
import sqlite3
import sys
import threading
import time

local = threading.local()


def database() -> sqlite3.Connection:
    if not hasattr(local, "db"):
        local.db = sqlite3.connect("mail.db", timeout=30, isolation_level=None)
    return local.db


def handle(message_id: str, email: str) -> None:
    db = database()
    db.execute("begin immediate")
    try:
        first = db.execute("insert into inbox (message_id) values (?) on conflict do nothing", (message_id,)).rowcount == 1
        if first:
            db.execute("insert into sent (email) values (?)", (email,))
        else:
            db.execute("update inbox set copies = copies + 1 where message_id = ?", (message_id,))
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


class Mailer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, text = 204, ""
        try:
            payload = json.loads(body)
            if payload.get("template") == "newsletter-2019" and not pathlib.Path("template-mended").exists():
                status, text = 500, "no template newsletter-2019"
            else:
                handle(self.headers["pillarbox-message-id"], payload["email"])
                time.sleep(0.02)  # it takes a while until a mail server says yes
        except (sqlite3.Error, ValueError, KeyError) as error:
            status, text = 500, type(error).__name__
        answer = text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True


server = Server(("127.0.0.1", int(sys.argv[1])), Mailer)
print(server.server_address[1], flush=True)
server.serve_forever()
