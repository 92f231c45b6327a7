# SPDX-License-Identifier: Apache-2.0
"""consumer.py PORT: takes messages over HTTP and has one effect for many deliveries."""
import http.server
import json
import sqlite3
import sys

# [consumer
db = sqlite3.connect("mail.db", isolation_level=None)
db.execute("create table if not exists inbox (message_id text primary key)")
db.execute("create table if not exists sent (account_id integer)")


def handle(message_id: str, payload: dict) -> None:
    db.execute("begin immediate")
    try:
        first_time = db.execute("insert into inbox values (?) on conflict do nothing", (message_id,)).rowcount == 1
        if first_time:
            db.execute("insert into sent values (?)", (payload["account_id"],))  # the effect
        db.execute("commit")  # remembered and done together, or neither
    except BaseException:
        db.execute("rollback")
        raise


class Consumer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            handle(self.headers["pillarbox-message-id"], json.loads(body))
            self.send_response(204)  # only now: 2xx means "I have it for good"
        except ValueError:
            self.send_response(400)  # this will never work: it becomes a dead letter
        except sqlite3.Error:
            self.send_response(500)  # try again later
        self.end_headers()
# consumer]

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Consumer)
print(server.server_address[1], flush=True)
server.serve_forever()
