-- The history of one message, every life, oldest first; at most 1000. $1 id
select life, attempt, claim_no, claimed_by, (extract(epoch from started_at) * 1000000)::bigint as started_at,
       (extract(epoch from ended_at) * 1000000)::bigint as ended_at, outcome, code, error, took_ms
from pillarbox.attempt
where outbox_id = $1
order by claim_no, ended_at
limit 1000;
