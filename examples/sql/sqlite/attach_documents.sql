-- A business act and its message, in one transaction: staged documents are attached to a user, and an upload is asked for.
-- Either all documents attach and the message exists, or nothing happened at all.
--
-- SQLite has no procedures; an INSTEAD OF trigger on a view is one: its statements run inside the caller's INSERT, and
-- raise(abort, …) undoes every one of them.
--
--   insert into attach_documents (user_id, document_ids, message_id)
--   values (17, '[1, 2, 3]', '0190b0a2-7c11-7d3e-9a51-3f0f0c0e7a01');
--
-- Repeating the call with the same message_id fails loud, for the documents have an owner by then: ask first with
--   select 1 from pillarbox_outbox where message_id = ?

create table if not exists document_upload (
  id      integer primary key,
  user_id integer,
  status  integer not null default 0  -- 0 staged
) strict;

create view if not exists attach_documents as
select null as user_id, null as document_ids, null as message_id
where false;

create trigger if not exists attach_documents_call instead of insert on attach_documents
begin
  update document_upload
  set user_id = new.user_id
  where id in (select value from json_each(new.document_ids)) and user_id is null and status = 0;

  -- A partial attach is corruption: fail loud.
  select raise(abort, 'the documents did not all attach')
  where changes() <> json_array_length(new.document_ids);

  -- The intent, in the same transaction. Ids only: the worker loads what it needs.
  insert into pillarbox_outbox (message_id, job_type, payload)
  values (new.message_id, 'partner-docs.upload.v1',
          json_object('user_id', new.user_id, 'document_ids', json(new.document_ids)));
end;
