-- The head of the next ordering_key: the first live message of the first key after :key_after. A claim jumps from key to
-- key with it, so a million messages behind one head cost nothing.
-- can_go: due or with a lease that has run out, nothing of the key is under a lease, no earlier dead letter holds the
-- key, not excluded and not braked.
--   :key_after       '' for the first key of all
--   :now, :filtered, :excluded   as in claim_pending.sql
-- Index: pillarbox_outbox_key_live, its first entry behind :key_after; one look into each of
-- pillarbox_outbox_key_claimed and pillarbox_dead_letter_holds_key. Locks: nothing by itself.
select o.ordering_key, o.id, o.available_at, o.payload_bytes,
       (o.status = 0 and o.available_at <= :now or o.status = 1 and o.locked_until <= :now)
       and o.claim_no < 9223372036854775807
       and not exists (select 1 from pillarbox_outbox other indexed by pillarbox_outbox_key_claimed
                       where other.ordering_key = o.ordering_key and other.status = 1 and other.locked_until > :now)
       and not exists (select 1 from pillarbox_dead_letter d indexed by pillarbox_dead_letter_holds_key
                       where d.ordering_key = o.ordering_key and d.outbox_id < o.id and d.holds_key = 1)
       and not (:filtered
                and (o.job_type in (select value from json_each(:excluded))
                     or exists (select 1 from pillarbox_brake b
                                where b.scope = 'type:' || o.job_type
                                   or (substr(b.scope, -1) = '*'
                                       and 'type:' || substr(o.job_type, 1, length(b.scope) - 6)
                                           = rtrim(b.scope, '*'))))) as can_go
from pillarbox_outbox o indexed by pillarbox_outbox_key_live
where o.ordering_key > :key_after
  and o.ordering_key is not null
  and o.status <= 1
order by o.ordering_key, o.id
limit 1;
