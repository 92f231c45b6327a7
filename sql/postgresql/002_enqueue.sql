-- The producers' interface: enqueue one message or many, inside the caller's own transaction.
--
-- Strings with a backslash are E'', which reads the same under every setting of the caller.
--
-- The functions run with their owner's rights, so a producer needs EXECUTE and nothing else. They return the
-- message_id. A refused message raises SQLSTATE PB001 before anything was written.

-- RFC 9562 version 7: 48 bits of milliseconds, then chance.
create function pillarbox.uuid_v7() returns uuid
language sql volatile parallel safe
return encode(
  set_byte(
    overlay(uuid_send(gen_random_uuid())
            placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
            from 1 for 6),
    6, 112 | (get_byte(uuid_send(gen_random_uuid()), 0) & 15)),
  'hex')::uuid;

create function pillarbox.refuse(what text) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'PB001', message = 'message refused: ' || what;
end $$;

-- Raises PB001 and says which field is wrong, how, and what would be right.
create function pillarbox.check_message(job_type text, payload bytea, content_type text, headers json,
                                        correlation_id text, ordering_key text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  media_type text;
  again      text;
  body       text;
begin
  if job_type is null or job_type = '' then
    perform pillarbox.refuse('job_type is empty; give a logical name such as email.welcome.v1');
  elsif char_length(job_type) > 200 then
    perform pillarbox.refuse(format('job_type has %s characters, at most 200 are allowed', char_length(job_type)));
  elsif concat(job_type, content_type, correlation_id, ordering_key) ~ E'[\\x01-\\x1f\\x7f]' then
    perform pillarbox.refuse(format('%s holds a control character; none is allowed',
                                    case when job_type ~ E'[\\x01-\\x1f\\x7f]' then 'job_type'
                                         when content_type ~ E'[\\x01-\\x1f\\x7f]' then 'content_type'
                                         when correlation_id ~ E'[\\x01-\\x1f\\x7f]' then 'correlation_id'
                                         else 'ordering_key' end));
  end if;
  if content_type is null or content_type = '' then
    perform pillarbox.refuse('content_type is empty; say application/octet-stream for bytes');
  elsif char_length(content_type) > 100 then
    perform pillarbox.refuse(format('content_type has %s characters, at most 100 are allowed',
                                    char_length(content_type)));
  end if;
  if char_length(correlation_id) > 64 then
    perform pillarbox.refuse(format('correlation_id has %s characters, at most 64 are allowed',
                                    char_length(correlation_id)));
  end if;
  if char_length(ordering_key) > 200 then
    perform pillarbox.refuse(format('ordering_key has %s characters, at most 200 are allowed',
                                    char_length(ordering_key)));
  end if;
  if payload is null then
    perform pillarbox.refuse('payload is null; give the JSON text null or bytes');
  elsif octet_length(payload) > 16777216 then
    perform pillarbox.refuse(format('the payload has %s bytes, at most 16777216 are allowed; store it elsewhere and '
                                    'send its id', octet_length(payload)));
  end if;
  if headers is not null then
    begin
      if json_typeof(headers) <> 'object' then
        perform pillarbox.refuse(format('headers is a JSON %s, it must be an object of strings', json_typeof(headers)));
      elsif exists (select from json_each(headers) as h where json_typeof(h.value) <> 'string') then
        perform pillarbox.refuse('headers holds a value that is not a string');
      elsif octet_length(headers::text) > 32768 then
        perform pillarbox.refuse(format('the headers have %s bytes, at most 32768 are allowed',
                                        octet_length(headers::text)));
      end if;
      select h.key into again from json_each_text(headers) as h group by h.key having count(*) > 1 or h.key = '' limit 1;
      if again is not null then
        perform pillarbox.refuse(format('headers has the name %L twice, or a name that is empty', again));
      end if;
    exception
      when untranslatable_character or invalid_text_representation then
        perform pillarbox.refuse('headers holds a NUL character or half a surrogate pair');
    end;
  end if;
  media_type := lower(trim(split_part(content_type, ';', 1)));
  if media_type = 'application/json' or media_type like '%+json' then
    begin  -- the block writes nothing, so it takes no subtransaction number
      body := convert_from(payload, 'UTF8');
      perform body::json;
      if body ~* E'\\\\ud[89a-f]' then
        begin
          perform body::jsonb;  -- only jsonb sees half a surrogate pair, which is no character
        exception
          when untranslatable_character or numeric_value_out_of_range or program_limit_exceeded then null;
        end;
      end if;
    exception
      when data_exception then
        perform pillarbox.refuse(format('the payload is not JSON though content_type is %s (%s)', content_type, sqlerrm));
    end;
  end if;
end $$;

-- Tells a relay that sleeps. While none does, this is one look at a lock and nothing is sent at commit. A relay that goes
-- to sleep takes the lock exclusively; sharing it until we commit keeps a relay from falling asleep between our look and
-- our commit.
create function pillarbox.wake() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_try_advisory_xact_lock_shared(1886351984, hashtext('pillarbox.sleep')) then
    perform pg_notify('pillarbox.wake', '');
  end if;
end $$;

create function pillarbox.enqueue(
  job_type text, payload bytea, content_type text default 'application/json', headers json default null,
  message_id uuid default null, correlation_id text default null, ordering_key text default null,
  delay interval default null, available_at timestamptz default null, expires_at timestamptz default null)
returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  chosen    uuid := coalesce(enqueue.message_id, pillarbox.uuid_v7());
  the_key   text := nullif(enqueue.ordering_key, '');
  moment    timestamptz := clock_timestamp();
begin
  perform pillarbox.check_message(enqueue.job_type, enqueue.payload, enqueue.content_type, enqueue.headers,
                                  enqueue.correlation_id, the_key);
  if enqueue.delay not between interval '0' and interval '3660 days' then
    perform pillarbox.refuse('delay must be from 0 to 3660 days');
  end if;
  if the_key is not null then
    -- Before the id is drawn: the order of ids is then the order of commits, for this key.
    perform pg_advisory_xact_lock(hashtextextended(the_key, 7813561));
    moment := clock_timestamp();
  end if;
  perform pillarbox.wake();
  if enqueue.message_id is null or current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    insert into pillarbox.outbox (message_id, job_type, payload, content_type, headers, correlation_id, ordering_key,
                                  occurred_at, available_at, expires_at)
    values (chosen, enqueue.job_type, enqueue.payload, enqueue.content_type, enqueue.headers,
            nullif(enqueue.correlation_id, ''), the_key, moment,
            coalesce(enqueue.available_at, moment + enqueue.delay, moment), enqueue.expires_at)
    on conflict on constraint outbox_message_id_key do nothing;
  else
    -- A twin that committed after our snapshot cannot be seen, and ON CONFLICT raises 40001 for it. It is the same
    -- message all the same: the caller's transaction must not die for it.
    begin
      insert into pillarbox.outbox (message_id, job_type, payload, content_type, headers, correlation_id, ordering_key,
                                    occurred_at, available_at, expires_at)
      values (chosen, enqueue.job_type, enqueue.payload, enqueue.content_type, enqueue.headers,
              nullif(enqueue.correlation_id, ''), the_key, moment,
              coalesce(enqueue.available_at, moment + enqueue.delay, moment), enqueue.expires_at)
      on conflict on constraint outbox_message_id_key do nothing;
    exception
      when serialization_failure then null;
    end;
  end if;
  return chosen;
end $$;

create function pillarbox.enqueue(
  job_type text, payload text, content_type text default 'application/json', headers json default null,
  message_id uuid default null, correlation_id text default null, ordering_key text default null,
  delay interval default null, available_at timestamptz default null, expires_at timestamptz default null)
returns uuid
language sql volatile as $$
  select pillarbox.enqueue($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10)
$$;

create function pillarbox.enqueue(
  job_type text, payload jsonb, content_type text default 'application/json', headers json default null,
  message_id uuid default null, correlation_id text default null, ordering_key text default null,
  delay interval default null, available_at timestamptz default null, expires_at timestamptz default null)
returns uuid
language sql volatile as $$
  select pillarbox.enqueue($1, convert_to($2::text, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10)
$$;

-- Many messages in one statement, all or none. Arrays have one length; those with a default may be left out. Returns the
-- message_ids in the order given.
create function pillarbox.enqueue_many(
  job_types text[], payloads bytea[], content_types text[] default null, headers json[] default null,
  message_ids uuid[] default null, correlation_ids text[] default null, ordering_keys text[] default null,
  delays interval[] default null, expires_at timestamptz[] default null)
returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  n       integer := coalesce(cardinality(job_types), 0);
  chosen  uuid[];
  moment  timestamptz;
  the_key text;
  i       integer;
begin
  if coalesce(cardinality(payloads), 0) <> n
     or coalesce(cardinality(content_types), n) <> n or coalesce(cardinality(enqueue_many.headers), n) <> n
     or coalesce(cardinality(message_ids), n) <> n or coalesce(cardinality(correlation_ids), n) <> n
     or coalesce(cardinality(ordering_keys), n) <> n or coalesce(cardinality(delays), n) <> n
     or coalesce(cardinality(enqueue_many.expires_at), n) <> n then
    perform pillarbox.refuse(format('enqueue_many: every array must have the length of job_types, %s', n));
  end if;
  for i in 1..n loop
    begin
      perform pillarbox.check_message(job_types[i], payloads[i], coalesce(content_types[i], 'application/json'),
                                      enqueue_many.headers[i], correlation_ids[i], nullif(ordering_keys[i], ''));
    exception
      when sqlstate 'PB001' then
        raise exception using errcode = 'PB001', message = format('message %s of %s: %s', i, n, sqlerrm);
    end;
  end loop;
  if exists (select from unnest(delays) as d where d not between interval '0' and interval '3660 days') then
    perform pillarbox.refuse('delays must be from 0 to 3660 days');
  end if;
  -- In one order, so that two callers cannot wait for each other here.
  for the_key in select distinct k from unnest(ordering_keys) as k where k <> '' order by k loop
    perform pg_advisory_xact_lock(hashtextextended(the_key, 7813561));
  end loop;
  perform pillarbox.wake();
  moment := clock_timestamp();
  select array_agg(coalesce(message_ids[k], pillarbox.uuid_v7()) order by k) into chosen from generate_series(1, n) as k;
  if message_ids is null or current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    insert into pillarbox.outbox (message_id, job_type, payload, content_type, headers, correlation_id, ordering_key,
                                  occurred_at, available_at, expires_at)
    select chosen[k], job_types[k], payloads[k], coalesce(content_types[k], 'application/json'),
           enqueue_many.headers[k], nullif(correlation_ids[k], ''), nullif(ordering_keys[k], ''),
           moment, coalesce(moment + delays[k], moment), enqueue_many.expires_at[k]
    from generate_series(1, n) as k
    order by k
    on conflict on constraint outbox_message_id_key do nothing;
  else
    for i in 1..n loop
      begin
        insert into pillarbox.outbox (message_id, job_type, payload, content_type, headers, correlation_id,
                                      ordering_key, occurred_at, available_at, expires_at)
        values (chosen[i], job_types[i], payloads[i], coalesce(content_types[i], 'application/json'),
                enqueue_many.headers[i], nullif(correlation_ids[i], ''), nullif(ordering_keys[i], ''),
                moment, coalesce(moment + delays[i], moment), enqueue_many.expires_at[i])
        on conflict on constraint outbox_message_id_key do nothing;
      exception
        when serialization_failure then null;
      end;
    end loop;
  end if;
  return query select unnest(chosen);
end $$;

create function pillarbox.enqueue_many(
  job_types text[], payloads text[], content_types text[] default null, headers json[] default null,
  message_ids uuid[] default null, correlation_ids text[] default null, ordering_keys text[] default null,
  delays interval[] default null, expires_at timestamptz[] default null)
returns setof uuid
language sql volatile as $$
  select pillarbox.enqueue_many($1, (select array_agg(convert_to(p, 'UTF8') order by n)
                                     from unnest($2) with ordinality as u (p, n)), $3, $4, $5, $6, $7, $8, $9)
$$;

-- True the first time this consumer sees the message, in the eyes of the caller's transaction.
create function pillarbox.once(consumer text, message_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if once.consumer is null or char_length(once.consumer) not between 1 and 100 then
    raise exception using errcode = 'PB001', message = 'consumer must have 1 to 100 characters';
  end if;
  if current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    insert into pillarbox.inbox (consumer, message_id) values (once.consumer, once.message_id) on conflict do nothing;
    return found;
  end if;
  -- A twin that committed after our snapshot cannot be seen, and ON CONFLICT raises 40001 for it: it was handled.
  begin
    insert into pillarbox.inbox (consumer, message_id) values (once.consumer, once.message_id) on conflict do nothing;
    return found;
  exception
    when serialization_failure then return false;
  end;
end $$;

revoke all on function pillarbox.refuse(text) from public;
revoke all on function pillarbox.check_message(text, bytea, text, json, text, text) from public;
revoke all on function pillarbox.wake() from public;
revoke all on function pillarbox.uuid_v7() from public;
revoke all on function pillarbox.enqueue(text, bytea, text, json, uuid, text, text, interval, timestamptz, timestamptz) from public;
revoke all on function pillarbox.enqueue(text, text, text, json, uuid, text, text, interval, timestamptz, timestamptz) from public;
revoke all on function pillarbox.enqueue(text, jsonb, text, json, uuid, text, text, interval, timestamptz, timestamptz) from public;
revoke all on function pillarbox.enqueue_many(text[], bytea[], text[], json[], uuid[], text[], text[], interval[], timestamptz[]) from public;
revoke all on function pillarbox.enqueue_many(text[], text[], text[], json[], uuid[], text[], text[], interval[], timestamptz[]) from public;
revoke all on function pillarbox.once(text, uuid) from public;
