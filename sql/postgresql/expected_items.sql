-- The columns and indexes that the migrations make, in the words of statements/drift.sql.
column attempt.attempt integer
column attempt.claim_no bigint
column attempt.claimed_by text
column attempt.code text
column attempt.ended_at timestamp with time zone
column attempt.error text
column attempt.life integer
column attempt.outbox_id bigint
column attempt.outcome text
column attempt.started_at timestamp with time zone
column attempt.took_ms bigint
column audit.action text
column audit.at timestamp with time zone
column audit.id bigint
column audit.what text
column audit.who text
column audit.why text
column brake.reason text
column brake.scope text
column brake.set_at timestamp with time zone
column brake.set_by text
column dead_letter.attempts integer
column dead_letter.code text
column dead_letter.dead_at timestamp with time zone
column dead_letter.discard_reason text
column dead_letter.discarded_at timestamp with time zone
column dead_letter.discarded_by text
column dead_letter.error text
column dead_letter.holds_key boolean
column dead_letter.job_type text
column dead_letter.life integer
column dead_letter.message_id uuid
column dead_letter.ordering_key text
column dead_letter.outbox_id bigint
column dead_letter.reason text
column inbox.consumer text
column inbox.handled_at timestamp with time zone
column inbox.message_id uuid
column messages.attempts integer
column messages.available_at timestamp with time zone
column messages.claim_no bigint
column messages.claimed_by text
column messages.content_type text
column messages.correlation_id text
column messages.dispatched_at timestamp with time zone
column messages.expires_at timestamp with time zone
column messages.headers json
column messages.id bigint
column messages.job_type text
column messages.last_error text
column messages.life integer
column messages.locked_until timestamp with time zone
column messages.message_id uuid
column messages.occurred_at timestamp with time zone
column messages.ordering_key text
column messages.payload_bytes integer
column messages.status text
column outbox.attempts integer
column outbox.available_at timestamp with time zone
column outbox.claim_no bigint
column outbox.claimed_by text
column outbox.content_type text
column outbox.correlation_id text
column outbox.dispatched_at timestamp with time zone
column outbox.expires_at timestamp with time zone
column outbox.headers json
column outbox.id bigint
column outbox.job_type text
column outbox.last_error text
column outbox.life integer
column outbox.live boolean
column outbox.locked_until timestamp with time zone
column outbox.message_id uuid
column outbox.occurred_at timestamp with time zone
column outbox.ordering_key text
column outbox.payload bytea
column outbox.status smallint
column relay.claimed_by text
column relay.drain_asked boolean
column relay.draining boolean
column relay.heartbeat_at timestamp with time zone
column relay.leases_held bigint
column relay.started_at timestamp with time zone
column relay.version text
column relay.workers integer
column schema_migration.applied_at timestamp with time zone
column schema_migration.checksum text
column schema_migration.name text
column schema_migration.number integer
index attempt_of_message
index audit_pkey
index brake_pkey
index dead_letter_holding
index dead_letter_pkey
index inbox_by_age
index inbox_pkey
index outbox_due
index outbox_keys
index outbox_message_id_key
index outbox_pkey
index relay_pkey
index schema_migration_pkey
