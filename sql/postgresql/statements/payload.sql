-- One payload. $1 id
select payload, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now from pillarbox.outbox where id = $1;
