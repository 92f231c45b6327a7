-- The types of what waits, the most first, from at most 10 000 live rows.
select job_type, count(*) as waiting
from ((select job_type from pillarbox.outbox where live and ordering_key is null order by available_at limit 5000)
      union all
      (select job_type from pillarbox.outbox where live and ordering_key is not null limit 5000)) as w
group by job_type
order by 2 desc, 1
limit 50;
