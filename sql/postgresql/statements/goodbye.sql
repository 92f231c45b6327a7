-- This relay stops. $1 claimed_by
delete from pillarbox.relay where claimed_by = $1;
