-- The ledger of hand-overs, in the database of the engine: which message became which job.
--
-- A sink makes it when it is missing and it may; else whoever owns that database runs this file. Rows may be deleted
-- when they are older than the longest time after which a delivery can be repeated.
create schema if not exists pillarbox;
create table if not exists pillarbox.handover (
  sink           text not null,
  message_id     uuid not null,
  life           bigint not null,   -- rises when an operator replays a message: a repeat that is wanted
  engine_job_id  text not null,
  handed_over_at timestamptz not null default clock_timestamp(),
  primary key (sink, message_id, life)
);
create index if not exists handover_by_age on pillarbox.handover (handed_over_at);
