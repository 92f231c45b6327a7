-- Version of Hangfire's schema, and how many living servers listen on queue $1.
select (select max(version) from schema)::bigint,
       (select count(*) from server
        where lastheartbeat > now() - interval '5 minutes' and data::jsonb -> 'Queues' ? $1);
