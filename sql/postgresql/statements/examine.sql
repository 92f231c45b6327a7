-- What doctor wants to know of the server.
select current_setting('server_version') as version,
       current_setting('server_encoding') as encoding,
       pg_is_in_recovery() as standby,
       current_setting('transaction_read_only') as read_only,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('fsync') as fsync,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
       pg_total_relation_size('pillarbox.outbox') as bytes,
       (select coalesce(n_dead_tup, 0) from pg_stat_user_tables where relid = 'pillarbox.outbox'::regclass) as dead_rows,
       (select coalesce(n_live_tup, 0) from pg_stat_user_tables where relid = 'pillarbox.outbox'::regclass) as live_rows,
       (select pid || ' ' || coalesce(state, '') from pg_stat_activity
        where backend_xmin is not null and xact_start < now() - interval '5 minutes' order by xact_start limit 1)
         as old_transaction,
       has_table_privilege('pillarbox.outbox', 'select, insert, update, delete') as may_relay,
       has_function_privilege('pillarbox.enqueue(text, bytea, text, json, uuid, text, text, interval, timestamptz, timestamptz)', 'execute')
         as may_enqueue;
