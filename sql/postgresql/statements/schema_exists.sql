-- Whether there is an outbox at all.
select to_regclass('pillarbox.schema_migration') is not null as there;
