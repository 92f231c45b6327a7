// SPDX-License-Identifier: Apache-2.0
// node register_postgresql.mjs URL EMAIL
// [register
import pg from "pg";

const db = new pg.Client(process.argv[2]);
await db.connect();
await db.query("create table if not exists account (id bigint generated always as identity, email text unique)");

async function register(email) {
  await db.query("begin");
  try {
    const account = await db.query("insert into account (email) values ($1) returning id", [email]);
    const payload = JSON.stringify({ account_id: Number(account.rows[0].id) });
    const message = await db.query("select pillarbox.enqueue('email.welcome.v1', $1::jsonb) as id", [payload]);
    await db.query("commit");
    return message.rows[0].id;
  } catch (error) {
    await db.query("rollback");
    throw error;
  }
}

console.log(await register(process.argv[3]));
// register]
await db.end();
