-- Lengthens leases that are still ours. $1 claimed_by  $2 ids  $3 claim_nos  $4 lease from now, ms
-- One that ran out is still ours while nobody took the message, and nothing else of its key runs. Beside it may run, after
-- a replay: an earlier message, also one that this call takes up again; or a later one, if it was itself replayed (else
-- the later ones wait behind it and are not walked).
-- Looks rows up by primary key; those of a key in index outbox_keys. Returns those that were ours.
update pillarbox.outbox as o
set locked_until = now() + $4::bigint * interval '1 millisecond'
from unnest($2::bigint[], $3::bigint[]) as g (id, claim_no)
where o.id = g.id and o.status = 1 and o.claimed_by = $1 and o.claim_no = g.claim_no
  and (o.locked_until >= now() or o.ordering_key is null
       or (not exists (select from pillarbox.outbox as p
                       where p.live and p.ordering_key = o.ordering_key and p.id < o.id and p.status = 1
                         and (p.locked_until >= now()
                              or (p.claimed_by = $1
                                  and exists (select from unnest($2::bigint[], $3::bigint[]) as h (id, claim_no)
                                              where h.id = p.id and h.claim_no = p.claim_no))))
           and (o.life = 0 or not exists (select from pillarbox.outbox as p
                                          where p.live and p.ordering_key = o.ordering_key and p.id > o.id and p.status = 1
                                            and p.locked_until >= now()))))
returning o.id, o.claim_no;
