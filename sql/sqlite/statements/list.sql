-- Candidates for a list, newest first. The reader looks at each by list_row.sql, applies the rest of the filter, and stops
-- when it has enough.
--   :source      how candidates are found: ids, message_ids, keys, correlation_ids (each of :values), dead, live, all
--   :values      JSON array
--   :before      only ids below
--   :scan_max    at most so many candidates
-- Index: the row's number; the unique one on message_id; pillarbox_outbox_key; pillarbox_outbox_correlation_id;
-- pillarbox_outbox_dead; pillarbox_outbox_pending, _claimed and _key_live. Sorts numbers only. Locks: nothing.
with candidate (id) as (
  select c.id from pillarbox_outbox c
  where :source = 'ids' and c.id in (select value from json_each(:values)) and c.id < :before
  union all
  select c.id from pillarbox_outbox c
  where :source = 'message_ids' and c.message_id in (select value from json_each(:values)) and c.id < :before
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_key
    where :source = 'keys' and c.ordering_key in (select value from json_each(:values)) and c.id < :before
      and c.ordering_key is not null
    order by c.id desc limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_correlation_id
    where :source = 'correlation_ids' and c.correlation_id in (select value from json_each(:values))
      and c.id < :before and c.correlation_id is not null
    order by c.id desc limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_dead
    where :source = 'dead' and c.status = 3 and c.id < :before
    order by c.id desc limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_pending
    where :source = 'live' and c.status = 0 and c.ordering_key is null and c.id < :before
    order by c.available_at desc limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_claimed
    where :source = 'live' and c.status = 1 and c.ordering_key is null and c.id < :before
    order by c.locked_until desc limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c indexed by pillarbox_outbox_key_live
    where :source = 'live' and c.ordering_key is not null and c.status <= 1 and c.id < :before limit :scan_max)
  union all
  select id from (
    select c.id from pillarbox_outbox c where :source = 'all' and c.id < :before order by c.id desc limit :scan_max)
)
select id from candidate order by id desc;
