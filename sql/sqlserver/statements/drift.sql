-- The columns, indexes and procedures that there are, to be compared with expected_items.sql.
SELECT CONCAT(N'column ', o.name, N'.', c.name, N' ', TYPE_NAME(c.system_type_id)) COLLATE Latin1_General_BIN2 AS Item
FROM sys.objects AS o
JOIN sys.columns AS c ON c.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'dbo') AND o.[type] = N'U' AND o.name LIKE N'JobOutbox%'
UNION ALL
SELECT CONCAT(N'index ', o.name, N'.', i.name) COLLATE Latin1_General_BIN2
FROM sys.objects AS o
JOIN sys.indexes AS i ON i.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'dbo') AND o.[type] = N'U' AND o.name LIKE N'JobOutbox%' AND i.name IS NOT NULL
UNION ALL
SELECT CONCAT(N'procedure ', o.name) COLLATE Latin1_General_BIN2
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'dbo') AND o.[type] = N'P' AND o.name LIKE N'JobOutbox%'
ORDER BY 1;
