/** Everything that a schema of PostgreSQL holds but its rows: a line each, in words of the server, without its name. */
export async function postgresShape(
  sql: (text: string) => Promise<readonly Record<string, unknown>[]>,
  schema: string,
): Promise<string[]> {
  const rows = await sql(query.replaceAll('$schema', schema))
  return rows.map(({ line }) => String(line).replaceAll(`${schema}.`, '')).sort()
}

const query = `
SET search_path TO $schema;
WITH relations AS (
  SELECT oid, relname, relkind, reloptions, relacl FROM pg_class
  WHERE relnamespace = CAST('$schema' AS regnamespace) AND relkind IN ('r', 'v', 'S', 'i')
), functions AS (
  SELECT oid FROM pg_proc WHERE pronamespace = CAST('$schema' AS regnamespace)
)
SELECT format('%s %s %s %s', relkind, relname, reloptions, relacl) AS line FROM relations
UNION ALL
SELECT format('column %s %s %s %s not null %s default %s identity %s collation %s',
  r.relname, a.place, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
  pg_get_expr(d.adbin, d.adrelid), a.attidentity, c.collname)
FROM relations AS r JOIN (
    SELECT *, row_number() OVER (PARTITION BY attrelid ORDER BY attnum) AS place
    FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped
  ) AS a ON a.attrelid = r.oid
  LEFT JOIN pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum
  LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE r.relkind IN ('r', 'v')
UNION ALL
SELECT format('constraint %s %s %s', r.relname, c.conname, pg_get_constraintdef(c.oid))
FROM relations AS r JOIN pg_constraint AS c ON c.conrelid = r.oid AND c.contype <> 'n'
UNION ALL SELECT pg_get_indexdef(oid) FROM relations WHERE relkind = 'i'
UNION ALL SELECT pg_get_viewdef(oid) FROM relations WHERE relkind = 'v'
UNION ALL SELECT pg_get_triggerdef(t.oid) FROM relations AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid AND NOT t.tgisinternal
UNION ALL SELECT pg_get_functiondef(oid) FROM functions`
