-- Who did what.
--   :now, :who, :action, :what, :why
-- Locks: the writer.
insert into pillarbox_audit (at, who, action, what, why) values (:now, :who, :action, :what, :why);
