-- Three roles that may do no more than they need. Not part of the numbered migrations: creating roles wants CREATEROLE,
-- and they are shared by all databases of a server. `pillarbox migrate --roles` runs it; it can run twice.
--
--   pillarbox_producer  may enqueue and use the inbox, and read or change nothing
--   pillarbox_relay     may claim, settle and operate
--   pillarbox_viewer    may look, without payloads
do $$
declare
  wanted text;
begin
  foreach wanted in array array['pillarbox_producer', 'pillarbox_relay', 'pillarbox_viewer'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute format('create role %I nologin', wanted);
    end if;
  end loop;
end $$;

grant usage on schema pillarbox to pillarbox_producer, pillarbox_relay, pillarbox_viewer;

grant execute on function
  pillarbox.enqueue(text, bytea, text, json, uuid, text, text, interval, timestamptz, timestamptz),
  pillarbox.enqueue(text, text, text, json, uuid, text, text, interval, timestamptz, timestamptz),
  pillarbox.enqueue(text, jsonb, text, json, uuid, text, text, interval, timestamptz, timestamptz),
  pillarbox.enqueue_many(text[], bytea[], text[], json[], uuid[], text[], text[], interval[], timestamptz[]),
  pillarbox.enqueue_many(text[], text[], text[], json[], uuid[], text[], text[], interval[], timestamptz[]),
  pillarbox.once(text, uuid)
to pillarbox_producer, pillarbox_relay;

grant select, insert, update, delete on
  pillarbox.outbox, pillarbox.attempt, pillarbox.dead_letter, pillarbox.inbox, pillarbox.brake, pillarbox.relay
to pillarbox_relay;
grant select, insert on pillarbox.audit to pillarbox_relay;
grant select on pillarbox.schema_migration, pillarbox.messages to pillarbox_relay;

-- All but the payload: what the program's own lists read.
grant select (id, available_at, occurred_at, locked_until, claim_no, attempts, life, status, live, message_id, expires_at,
              dispatched_at, job_type, content_type, correlation_id, ordering_key, claimed_by, last_error, headers)
on pillarbox.outbox to pillarbox_viewer;
grant select on pillarbox.messages, pillarbox.attempt, pillarbox.dead_letter, pillarbox.brake, pillarbox.relay,
  pillarbox.audit, pillarbox.schema_migration
to pillarbox_viewer;
