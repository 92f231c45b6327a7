-- Every transaction of the relay, whatever the database's default isolation: a claim must see what was committed up to
-- its own statement.
begin isolation level read committed;
