-- Messages without an ordering_key whose lease has run out. (A key's own is found as its head, by claim_key.sql.)
--   :now, :filtered, :excluded   as in claim_pending.sql
-- A row that has used up all fencing numbers stays where it is: none is ever used twice.
-- Index: pillarbox_outbox_claimed, in its order, no sort. Locks: nothing by itself.
select o.id, o.available_at, o.payload_bytes,
       :filtered
       and (o.job_type in (select value from json_each(:excluded))
            or exists (select 1 from pillarbox_brake b
                       where b.scope = 'type:' || o.job_type
                          or (substr(b.scope, -1) = '*'
                              and 'type:' || substr(o.job_type, 1, length(b.scope) - 6) = rtrim(b.scope, '*')))) as skip
from pillarbox_outbox o indexed by pillarbox_outbox_claimed
where o.status = 1
  and o.locked_until <= :now
  and o.ordering_key is null
  and o.claim_no < 9223372036854775807
order by o.locked_until;
