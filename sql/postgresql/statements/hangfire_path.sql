-- Where Hangfire's tables are, for this transaction. $1 schema. Hangfire's times are UTC in every version of its schema.
select set_config('search_path', quote_ident($1), true), set_config('timezone', 'UTC', true);
