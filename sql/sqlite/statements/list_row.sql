-- One message with its status and why it waits, without its payload.
--   :id, :now
-- Index: the row's own number; pillarbox_outbox_key_live and pillarbox_dead_letter_holds_key for a message that waits in a
-- key. Locks: nothing.
select o.id, o.message_id, o.job_type, o.status,
       case
         when o.status = 1 then 'claimed'
         when o.status = 2 then 'dispatched'
         when o.status = 3 then 'dead'
         when exists (select 1 from pillarbox_brake b
                      where b.scope = 'all' or b.scope = 'type:' || o.job_type
                         or (substr(b.scope, -1) = '*'
                             and 'type:' || substr(o.job_type, 1, length(b.scope) - 6) = rtrim(b.scope, '*'))) then 'braked'
         when o.available_at > :now then case when o.attempts > 0 then 'retrying' else 'delayed' end
         when o.ordering_key is not null
              and (exists (select 1 from pillarbox_outbox earlier indexed by pillarbox_outbox_key_live
                           where earlier.ordering_key = o.ordering_key and earlier.status <= 1 and earlier.id < o.id)
                   or exists (select 1 from pillarbox_dead_letter d indexed by pillarbox_dead_letter_holds_key
                              where d.ordering_key = o.ordering_key and d.outbox_id < o.id and d.holds_key = 1))
           then 'held'
         when o.attempts > 0 then 'retrying'
         else 'ready'
       end as view,
       o.content_type, o.payload_bytes, o.headers, o.correlation_id, o.ordering_key, o.occurred_at, o.available_at,
       o.expires_at, o.claimed_by, o.locked_until, o.claim_no, o.attempts, o.life, o.dispatched_at, o.last_error,
       case when o.status = 3
            then (select d.reason from pillarbox_dead_letter d where d.outbox_id = o.id and d.life = o.life) end as reason
from pillarbox_outbox o
where o.id = :id;
