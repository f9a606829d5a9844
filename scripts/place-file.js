/** The form of `places.db`. */
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'

// Keys follow the order in which places of equal match are answered: countries, then regions, then cities, each by
// population. A name stands under each of its words, so that it is found by any of them.
const schema = `
CREATE TABLE places (
  key INTEGER PRIMARY KEY,
  code ANY NOT NULL,
  country TEXT NOT NULL,
  region TEXT,
  name TEXT NOT NULL,
  also TEXT
) STRICT;
CREATE TABLE names (
  folded TEXT NOT NULL,
  later INTEGER NOT NULL,
  place INTEGER NOT NULL,
  PRIMARY KEY (folded, later, place)
) STRICT, WITHOUT ROWID;
`

/** What a file says it was made of; nothing where there is none. */
export function fingerprintOf(path) {
  if (!existsSync(path)) return undefined
  const database = new Database(path, { readonly: true })
  try {
    return database.pragma('user_version', { simple: true })
  } finally {
    database.close()
  }
}

/** Writes places in their order, each with its folded names, and what they were made of. */
export function write(path, spelt, made) {
  const database = new Database(path)
  // Nobody sees the file before it is complete, so there is nothing to undo.
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`user_version = ${made}`)
  database.exec(schema)
  database.transaction(() => {
    const place = database.prepare('INSERT INTO places VALUES (?, ?, ?, ?, ?, ?)')
    spelt.forEach(({ place: { code, country, region = null, name }, also }, at) => {
      // A number would be kept as one with a fraction.
      const id = typeof code === 'number' ? BigInt(code) : code
      place.run(at + 1, id, country, region, name, also.join('\n') || null)
    })
    database.exec('CREATE UNIQUE INDEX places_by_code ON places (code)')
    const name = database.prepare('INSERT OR IGNORE INTO names VALUES (?, ?, ?)')
    for (const row of spelt.flatMap(nameRows).sort(inOrder)) name.run(...row)
  })()
  database.close()
}

/** A place under each of its names, and under what follows from each later word of three letters or more. */
function nameRows({ own, also }, at) {
  return [own, ...also].flatMap((name) => {
    const words = name.split(' ')
    const later = words.flatMap((word, from) =>
      from > 0 && word.length > 2 ? [[words.slice(from).join(' '), 1, at + 1]] : [],
    )
    return [[name, 0, at + 1], ...later]
  })
}

// The order of the table's own tree.
const inOrder = (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1] || a[2] - b[2])
