// SPDX-License-Identifier: Apache-2.0
// receiver.mjs OUTPUT SECRET SEED: an HTTP receiver built from the official packages alone. It verifies each request with
// `standardwebhooks`, reads CloudEvents with `cloudevents`, and appends one JSON line for each message to OUTPUT. Now and then it
// answers 503, or cuts the connection after it took a message: senders must live with both.
import { HTTP } from "cloudevents";
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const [output, secret, seed] = process.argv.slice(2);
const file = openSync(output, "a");
const webhook = new Webhook(secret);

// A small generator of its own, so that a seed repeats the faults.
let state = Number(seed) >>> 0 || 1;
function chance(oneIn) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % oneIn === 0;
}

function record(line) {
  writeSync(file, JSON.stringify(line) + "\n");
}

function messages_of(path, headers, body) {
  const text = body.toString("utf8");
  if (path === "/raw") {
    return [{ id: headers["pillarbox-message-id"], type: headers["pillarbox-job-type"], data: JSON.parse(text) }];
  }
  const message = { headers, body: text };
  if (!HTTP.isEvent(message)) throw new Error("not a CloudEvent");
  const event = HTTP.toEvent(message);
  const events = Array.isArray(event) ? event : [event];
  return events.map((one) => {
    one.validate();
    return { id: one.id, type: one.type, source: one.source, time: one.time, key: one.partitionkey, data: one.data };
  });
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (chance(60)) {
      response.writeHead(503).end("not now");
      return;
    }
    try {
      webhook.verify(body, request.headers);
      const messages = messages_of(request.url, request.headers, body);
      const whole = body.toString("base64");
      messages.forEach((message, index) => record({ ...message, path: request.url, content_type: request.headers["content-type"],
        github_event: request.headers["x-github-event"], webhook_id: request.headers["webhook-id"],
        body: index === 0 ? whole : undefined, batch: messages.length }));
    } catch (error) {
      record({ refused: String(error), path: request.url, id: request.headers["webhook-id"] });
      response.writeHead(400).end(String(error));
      return;
    }
    if (chance(60)) {
      request.socket.destroy();
      return;
    }
    response.writeHead(204).end();
  });
  request.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
