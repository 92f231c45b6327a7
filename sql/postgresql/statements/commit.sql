-- Ends the transaction that begin.sql began.
commit;
