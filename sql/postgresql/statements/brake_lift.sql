-- Lifts a brake. $1 scope  $2 who. Returns how many were lifted.
with lifted as (
  delete from pillarbox.brake where scope = $1 returning scope
), noted as (
  insert into pillarbox.audit (who, action, what) select $2, 'resume', scope from lifted
)
select count(*) as lifted from lifted;
