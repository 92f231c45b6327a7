// SPDX-License-Identifier: Apache-2.0
// node verify_webhook.mjs SECRET: a receiver that believes nobody. Prints its port, then each message that it believed.
import { createServer } from "node:http";
// [verify
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.argv[2]); // the secret that Pillarbox signs with

function handle(request, response, body) {
  try {
    webhook.verify(body, request.headers); // the raw bytes, not parsed and written again
  } catch {
    response.writeHead(400).end();
    return;
  }
  console.log(request.headers["webhook-id"], body.toString());
  response.writeHead(204).end();
}
// verify]

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => handle(request, response, Buffer.concat(chunks)));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
