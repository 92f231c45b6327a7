-- The headers of one message, in the order in which they were written.
--   :headers   JSON object of strings
-- Locks: nothing; reads no table.
select h.key, h.value, h.type from json_each(:headers) h;
