-- The outbox of one application database, and what stands beside it.
--
-- Run by `pillarbox migrate` in one transaction; it can be run by hand too. It creates a schema and touches nothing
-- outside it, so it locks nothing that an application uses.

create schema if not exists pillarbox;

create table if not exists pillarbox.schema_migration (
  number     integer primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- One row a message. status: 0 pending, 1 claimed, 2 dispatched, 3 dead.
--
-- status, claimed_by, locked_until, claim_no and attempts are in no index and in no index predicate, and the pages have
-- room for a second version of each row: a claim is then a HOT update that writes to no index. `live` is what the
-- indexes ask; claiming does not change it.
-- The limits of texts look at their bytes first: each update checks them again, and counting characters costs.
create table pillarbox.outbox (
  id             bigint generated always as identity,
  available_at   timestamptz not null default clock_timestamp(),
  occurred_at    timestamptz not null default clock_timestamp(),
  locked_until   timestamptz,
  claim_no       bigint not null default 0,
  attempts       integer not null default 0,
  life           integer not null default 0,
  status         smallint not null default 0,
  live           boolean not null generated always as (status <= 1) stored,
  message_id     uuid not null,
  expires_at     timestamptz,
  dispatched_at  timestamptz,
  job_type       text collate "C" not null,
  content_type   text not null default 'application/json',
  correlation_id text,
  ordering_key   text collate "C",
  claimed_by     text,
  last_error     text,
  headers        json,
  payload        bytea not null,
  constraint outbox_pkey primary key (id),
  constraint outbox_message_id_key unique (message_id),
  constraint status_is_0_to_3 check (status between 0 and 3),
  constraint job_type_has_1_to_200_characters
    check (octet_length(job_type) between 1 and 200 or char_length(job_type) between 1 and 200),
  constraint content_type_has_1_to_100_characters
    check (octet_length(content_type) between 1 and 100 or char_length(content_type) between 1 and 100),
  constraint correlation_id_has_at_most_64_characters
    check (octet_length(correlation_id) <= 64 or char_length(correlation_id) <= 64),
  constraint ordering_key_has_1_to_200_characters
    check (octet_length(ordering_key) between 1 and 200 or char_length(ordering_key) between 1 and 200),
  constraint claimed_by_has_at_most_100_characters
    check (octet_length(claimed_by) <= 100 or char_length(claimed_by) <= 100),
  constraint claim_no_can_rise check (claim_no between 0 and 4611686018427387904),
  constraint payload_has_at_most_16_mib check (octet_length(payload) <= 16777216)
) with (
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0.02,          -- live rows are few beside what was dispatched
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 1
);

-- The claim of messages without a key walks this one in its own order. Only live rows are in it.
create index outbox_due on pillarbox.outbox (available_at, id) where live and ordering_key is null;

-- The claim of messages with a key jumps in this one from key to key: the first entry of a key is its head.
create index outbox_keys on pillarbox.outbox (ordering_key, id) where live and ordering_key is not null;

-- Every attempt that did not simply succeed.
create table pillarbox.attempt (
  outbox_id  bigint not null,
  life       integer not null,
  attempt    integer not null,
  claim_no   bigint not null,
  claimed_by text,
  started_at timestamptz,
  ended_at   timestamptz not null default clock_timestamp(),
  outcome    text not null,   -- retry, dead, release, lease_lost, replayed, released_by_operator
  code       text,
  error      text,
  took_ms    bigint not null default 0
);
create index attempt_of_message on pillarbox.attempt (outbox_id);

-- One row for each death. discarded_at makes it a tombstone: the message itself is gone.
create table pillarbox.dead_letter (
  outbox_id      bigint not null,
  life           integer not null,
  message_id     uuid not null,
  job_type       text collate "C" not null,
  ordering_key   text collate "C",
  reason         text not null,
  code           text,
  error          text,
  attempts       integer not null,
  dead_at        timestamptz not null default clock_timestamp(),
  holds_key      boolean not null default false,
  discarded_at   timestamptz,
  discarded_by   text,
  discard_reason text,
  primary key (outbox_id, life)
);
create index dead_letter_holding on pillarbox.dead_letter (ordering_key) where holds_key;

-- The consumer's memory: one effect for many deliveries.
create table pillarbox.inbox (
  consumer   text not null,
  message_id uuid not null,
  handled_at timestamptz not null default clock_timestamp(),
  primary key (consumer, message_id)
);
create index inbox_by_age on pillarbox.inbox (handled_at);

-- scope: 'all', 'type:email.welcome.v1' or 'type:email.*'.
create table pillarbox.brake (
  scope  text collate "C" primary key,
  reason text not null default '',
  set_by text not null default session_user,
  set_at timestamptz not null default clock_timestamp(),
  constraint scope_is_all_or_type check (scope = 'all' or scope ~ '^type:[^*]*[*]?$')
);

create table pillarbox.relay (
  claimed_by   text primary key,
  version      text not null,
  workers      integer not null,
  leases_held  bigint not null default 0,
  started_at   timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  draining     boolean not null default false,
  drain_asked  boolean not null default false
);

create table pillarbox.audit (
  id     bigint generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  who    text not null,
  action text not null,
  what   text not null,
  why    text not null default ''
);

create view pillarbox.messages as
select id, message_id, job_type, content_type, octet_length(payload) as payload_bytes, headers, correlation_id,
       ordering_key, (array['pending', 'claimed', 'dispatched', 'dead'])[status + 1] as status,
       occurred_at, available_at, expires_at, claimed_by, locked_until, claim_no, attempts, life, dispatched_at,
       last_error
from pillarbox.outbox;

comment on table pillarbox.outbox is 'Transactional outbox: one row a message. Enqueue through pillarbox.enqueue().';
