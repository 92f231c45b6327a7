-- Due messages without an ordering_key, oldest first, from a position on.
-- The reader stops when it has enough: by count, by bytes, or by rows looked at.
--   :now             the database's clock, from now.sql
--   :available_from, :id_from   only what lies behind this position in (available_at, id)
--   :filtered        0: no type is excluded and no brake is set, so skip is 0
--   :excluded        JSON array of exact job types to leave alone
-- A row that has used up all fencing numbers stays where it is: none is ever used twice.
-- Index: pillarbox_outbox_pending, in its order, no sort. Locks: nothing by itself.
select o.id, o.available_at, o.payload_bytes,
       :filtered
       and (o.job_type in (select value from json_each(:excluded))
            or exists (select 1 from pillarbox_brake b
                       where b.scope = 'type:' || o.job_type
                          or (substr(b.scope, -1) = '*'
                              and 'type:' || substr(o.job_type, 1, length(b.scope) - 6) = rtrim(b.scope, '*')))) as skip
from pillarbox_outbox o indexed by pillarbox_outbox_pending
where o.status = 0
  and o.ordering_key is null
  and o.available_at <= :now
  and o.claim_no < 9223372036854775807
  and (o.available_at, o.id) > (:available_from, :id_from)
order by o.available_at, o.id;
