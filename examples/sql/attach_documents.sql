-- SPDX-License-Identifier: Apache-2.0
-- A business function that enqueues: it attaches documents to a user, all or none, and asks for their upload.
create table partner_document (id bigint primary key, user_id bigint);

-- [attach
create function partner_documents_attach(user_id bigint, document_ids bigint[]) returns uuid
language plpgsql as $$
declare
  attached bigint;
begin
  update partner_document d set user_id = partner_documents_attach.user_id
  where d.id = any(document_ids) and d.user_id is null;
  get diagnostics attached = row_count;
  if attached <> cardinality(document_ids) then  -- a partial attach is corruption
    raise exception 'attached % of % documents', attached, cardinality(document_ids);
  end if;
  return pillarbox.enqueue('partner-documents.upload.v1',
                           jsonb_build_object('user_id', user_id, 'document_ids', document_ids));
end $$;
-- attach]
