import type { Migration, Schema } from '../../src/storage/database/migrate.js'

const first: Migration = {
  sqlite: `
CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO things (name) VALUES ('one'), ('two');
`,
}

const steps: readonly Migration[] = [
  {
    sqlite: `
ALTER TABLE things ADD COLUMN length INTEGER;
CREATE INDEX things_length ON things (length);
`,
    work: async (connection) => {
      const rows = await connection.all<{ id: number; name: string }>('SELECT id, name FROM things')
      for (const { id, name } of rows)
        await connection.run('UPDATE things SET length = ? WHERE id = ?', name.length, id)
    },
  },
  { sqlite: 'CREATE TABLE others (id INTEGER PRIMARY KEY);' },
]

/** A schema as a later release may have it, up to a version: 3 is its newest. */
export const madeUp = (version = 3): Schema => ({ first, steps: steps.slice(0, version - 1) })
