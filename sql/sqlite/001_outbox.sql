-- Pillarbox on SQLite (3.40 or newer): the outbox and what stands beside it.
--
-- Run by `pillarbox migrate`, or by hand in one transaction:
--   sqlite3 app.db 'pragma journal_mode = wal' 'begin immediate' '.read 001_outbox.sql' 'commit'
-- (then tell pillarbox_schema_migration, as docs/reference/sql-sqlite.md shows).
-- Locks: the writer, for some milliseconds. Needs no rewrite of any table. Safe to run twice.
--
-- A producer needs one statement, inside its own transaction:
--   insert into pillarbox_outbox (job_type, payload) values (?, ?);
-- and, to be able to repeat it safely, its own id:
--   insert into pillarbox_outbox (message_id, job_type, payload) values (?, ?, ?) on conflict (message_id) do nothing;
--
-- Times are whole milliseconds since 1970-01-01T00:00:00Z, by this database's clock (SQLite's julianday('now')),
-- constant within one statement. The view pillarbox_messages shows them as ISO 8601.

-- The clock that every time below comes from: `select now_ms from pillarbox_clock`.
create view if not exists pillarbox_clock as
select cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer) as now_ms;

create table if not exists pillarbox_outbox (
  -- autoincrement: a number that was deleted never comes back, so no late settle meets another row.
  id             integer primary key autoincrement,
  -- UUID version 7 when the producer gives none: milliseconds first, so the unique index grows at its end.
  message_id     text    not null
                 default (printf('%08x-%04x-7%03x-%04x-%012x',
                                 cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer) >> 16,
                                 cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer) & 65535,
                                 random() & 4095, 32768 | (random() & 16383), random() & 281474976710655)),
  job_type       text    not null,
  content_type   text    not null default 'application/json',
  headers        text    not null default '{}',
  correlation_id text,
  ordering_key   text,
  status         integer not null default 0,  -- 0 pending, 1 claimed, 2 dispatched, 3 dead
  occurred_at    integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)),
  available_at   integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)),
  expires_at     integer,
  claimed_by     text,
  locked_until   integer,
  claim_no       integer not null default 0,  -- the fencing number: rises by one with each claim, never falls
  attempts       integer not null default 0,
  life           integer not null default 0,  -- rises with each replay
  dispatched_at  integer,
  last_error     text,
  payload_bytes  integer not null generated always as (length(cast(payload as blob))) stored,
  payload        any     not null,            -- text or blob, delivered byte for byte

  -- The names of these constraints are what a producer reads when one refuses its row. x'2a5b012d1f5d2a' is the glob
  -- pattern *[^A-^_]*, any control character; a NUL would end the text for glob, hence instr.
  constraint "message_id must be a UUID in lower case: 8-4-4-4-12 hexadecimal digits" check (
    length(message_id) = 36 and message_id glob
    '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'),
  constraint "job_type must be 1 to 200 characters without control characters" check (
    length(job_type) between 1 and 200 and instr(job_type, char(0)) = 0
    and not job_type glob cast(x'2a5b012d1f5d2a' as text)),
  constraint "content_type must be 1 to 100 characters without control characters" check (
    content_type = 'application/json'
    or length(content_type) between 1 and 100 and instr(content_type, char(0)) = 0
    and not content_type glob cast(x'2a5b012d1f5d2a' as text)),
  constraint "correlation_id must be 1 to 64 characters without control characters, or null" check (
    correlation_id is null
    or (length(correlation_id) between 1 and 64 and instr(correlation_id, char(0)) = 0
    and not correlation_id glob cast(x'2a5b012d1f5d2a' as text))),
  constraint "ordering_key must be 1 to 200 characters without control characters, or null" check (
    ordering_key is null
    or (length(ordering_key) between 1 and 200 and instr(ordering_key, char(0)) = 0
    and not ordering_key glob cast(x'2a5b012d1f5d2a' as text))),
  constraint "headers must be a JSON object of strings, at most 32 KiB" check (
    headers = '{}'
    or (length(cast(headers as blob)) <= 32768 and json_valid(headers) and json_type(headers) = 'object')),
  constraint "payload must be text or blob, at most 16 MiB" check (
    typeof(payload) in ('text', 'blob') and length(cast(payload as blob)) <= 16777216),
  constraint "payload must be JSON, as its content_type says" check (
    not (content_type = 'application/json' or content_type like 'application/json;%' or content_type like '%+json')
    or (json_valid(payload) and instr(payload, char(0)) = 0)),
  constraint "status must be 0 (pending), 1 (claimed), 2 (dispatched) or 3 (dead)" check (status between 0 and 3),
  constraint "a claimed message has claimed_by and locked_until, and no other has" check (
    (status = 1) = (claimed_by is not null) and (status = 1) = (locked_until is not null))
) strict;

-- A producer may repeat itself: the same message_id is one message.
create unique index if not exists pillarbox_outbox_message_id on pillarbox_outbox (message_id);

-- What a claim walks, in the claim's own order (available_at, then id): nothing that is settled or leased lies in the
-- way, and what is not due lies behind what is. Messages with an ordering_key are found by the next index but one.
create index if not exists pillarbox_outbox_pending on pillarbox_outbox (available_at, id)
  where status = 0 and ordering_key is null;

-- Leases by the time at which they run out.
create index if not exists pillarbox_outbox_claimed on pillarbox_outbox (locked_until) where status = 1;

-- The live messages of each key in order: the first one is the key's head, and a claim jumps from head to head.
create index if not exists pillarbox_outbox_key_live on pillarbox_outbox (ordering_key, id)
  where ordering_key is not null and status <= 1;

-- Leases of a key. There is one, but for the moment after a replay put an earlier message before a claimed one.
create index if not exists pillarbox_outbox_key_claimed on pillarbox_outbox (ordering_key, locked_until)
  where ordering_key is not null and status = 1;

-- For purges, by age, and for lists.
create index if not exists pillarbox_outbox_dispatched on pillarbox_outbox (dispatched_at) where status = 2;
create index if not exists pillarbox_outbox_dead on pillarbox_outbox (id) where status = 3;
create index if not exists pillarbox_outbox_key on pillarbox_outbox (ordering_key, id) where ordering_key is not null;
create index if not exists pillarbox_outbox_correlation_id on pillarbox_outbox (correlation_id, id)
  where correlation_id is not null;

-- The history of each message: how every attempt ended but the one that was dispatched, and what operators did.
create table if not exists pillarbox_attempt (
  outbox_id  integer not null,
  life       integer not null,
  attempt    integer not null,
  claim_no   integer not null,
  claimed_by text    not null default '',
  started_at integer,
  ended_at   integer not null,
  outcome    text    not null,  -- retry, dead, release, lease_lost, replayed, released_by_operator
  code       text    not null default '',
  error      text    not null default '',
  took_ms    integer not null default 0
) strict;
create index if not exists pillarbox_attempt_outbox_id on pillarbox_attempt (outbox_id);

-- Messages that will not be tried again, and (discarded_at set) the tombstones of those that were discarded.
create table if not exists pillarbox_dead_letter (
  outbox_id      integer not null,
  life           integer not null,
  message_id     text    not null,
  job_type       text    not null,
  ordering_key   text,
  reason         text    not null
    constraint "reason must be permanent, attempts, poison, expired, malformed or parked" check (
      reason in ('permanent', 'attempts', 'poison', 'expired', 'malformed', 'parked')),
  code           text    not null default '',
  error          text    not null default '',
  attempts       integer not null,
  dead_at        integer not null,
  holds_key      integer not null default 0,  -- 1: later messages of the key wait until this one is replayed or discarded
  discarded_at   integer,
  discarded_by   text,
  discard_reason text,
  primary key (outbox_id, life)
) strict, without rowid;
create index if not exists pillarbox_dead_letter_dead_at on pillarbox_dead_letter (dead_at);
create index if not exists pillarbox_dead_letter_holds_key on pillarbox_dead_letter (ordering_key, outbox_id)
  where holds_key = 1;
create index if not exists pillarbox_dead_letter_discarded_at on pillarbox_dead_letter (discarded_at)
  where discarded_at is not null;

-- The consumer's memory of what it handled. A consumer in this database writes here in its own transaction:
--   insert into pillarbox_inbox (consumer, message_id) values (?, ?) on conflict do nothing;
-- and does the effect only when changes() says 1.
create table if not exists pillarbox_inbox (
  consumer   text    not null
    constraint "consumer must be 1 to 100 characters" check (length(consumer) between 1 and 100),
  message_id text    not null,
  handled_at integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)),
  primary key (consumer, message_id)
) strict, without rowid;
create index if not exists pillarbox_inbox_handled_at on pillarbox_inbox (handled_at);

-- An operator's pause: of everything ("all"), of a job type ("type:email.welcome.v1"), of a prefix ("type:email.*").
create table if not exists pillarbox_brake (
  scope  text    primary key not null
    constraint "scope must be all, type:NAME or type:PREFIX*" check (
      scope = 'all' or (scope glob 'type:?*' and length(scope) <= 206)),
  reason text    not null default '',
  set_by text    not null default '',
  set_at integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer))
) strict, without rowid;

-- Heartbeats.
create table if not exists pillarbox_relay (
  claimed_by   text    primary key not null,
  version      text    not null,
  workers      integer not null,
  leases_held  integer not null default 0,
  started_at   integer not null,
  heartbeat_at integer not null,
  draining     integer not null default 0,
  drain_asked  integer not null default 0
) strict, without rowid;

-- Who did what: one line for each act of an operator.
create table if not exists pillarbox_audit (
  id     integer primary key autoincrement,
  at     integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)),
  who    text    not null,
  action text    not null,
  what   text    not null default '',
  why    text    not null default ''
) strict;

-- Which of these files have been applied.
create table if not exists pillarbox_schema_migration (
  number     integer primary key not null,
  name       text    not null,
  checksum   text    not null,  -- SHA-256 of the file
  applied_at integer not null default (cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer))
) strict;

-- A CHECK cannot look into each header, so this stands beside it. Rows without headers do no work here.
create trigger if not exists pillarbox_outbox_headers after insert on pillarbox_outbox when new.headers <> '{}'
begin
  select raise(abort, 'headers must be a JSON object of strings, at most 32 KiB')
  where exists (select 1 from json_each(new.headers) h where h.type <> 'text');
end;

-- ---- for people ----------------------------------------------------------------------------------------------------

-- Every message with its status as a word and its times as ISO 8601. No payload.
create view if not exists pillarbox_messages as
select
  id, message_id, job_type,
  case status when 0 then 'pending' when 1 then 'claimed' when 2 then 'dispatched' else 'dead' end as status,
  content_type, headers, correlation_id, ordering_key, payload_bytes,
  strftime('%Y-%m-%dT%H:%M:%fZ', occurred_at / 1000.0, 'unixepoch') as occurred_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', available_at / 1000.0, 'unixepoch') as available_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch') as expires_at,
  claimed_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', locked_until / 1000.0, 'unixepoch') as locked_until,
  claim_no, attempts, life,
  strftime('%Y-%m-%dT%H:%M:%fZ', dispatched_at / 1000.0, 'unixepoch') as dispatched_at,
  last_error
from pillarbox_outbox;
