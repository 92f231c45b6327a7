-- Whether the ledger is there.
select to_regclass('pillarbox.handover') is not null;
