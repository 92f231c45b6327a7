-- Records a migration. $1 number  $2 name  $3 checksum
insert into pillarbox.schema_migration (number, name, checksum) values ($1, $2, $3);
