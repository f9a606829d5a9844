import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { ApiError } from '../../api/calls/errors.js'
import { boundText } from '../../storage/driver/connection.js'

/** A country, region or city of the gazetteer. */
export interface GazetteerEntry {
  /** Lower for larger kinds of places, and for larger places of the same kind. */
  readonly key: number
  /** `FR`, `FR.84`, or the GeoNames id of a city. */
  readonly code: string | number
  readonly country: string
  /** The region itself, or the one that a city is in. */
  readonly region: string | null
  readonly name: string
  /** Further names, folded, a line each. */
  readonly also: string | null
}

let opened: ReturnType<typeof open> | undefined

/** Returns the gazetteer, a read-only file beside the program that is opened on first use. */
export function gazetteer() {
  opened ??= open()
  return opened
}

const columns = 'places.key, code, country, region, places.name, also'

/** Opens the countries, regions and cities of the world. Names are given folded. */
function open() {
  const database = new Database(findFile(), { readonly: true, fileMustExist: true })
  const byCode = database.prepare<[string | number], GazetteerEntry>(
    `SELECT ${columns} FROM places WHERE code = ?`,
  )
  const named = database.prepare<[string], GazetteerEntry>(
    `SELECT ${columns} FROM names JOIN places ON places.key = names.place
      WHERE names.folded = ${boundText} AND later = 0 ORDER BY names.place`,
  )
  const firstNamed = database.prepare<[string], GazetteerEntry>(
    `SELECT ${columns} FROM names JOIN places ON places.key = names.place
      WHERE names.folded = ${boundText} AND later = 0 ORDER BY names.place LIMIT 1`,
  )
  const citiesNamed = database.prepare<[string, string], GazetteerEntry>(
    `SELECT ${columns} FROM names JOIN places ON places.key = names.place
      WHERE names.folded = ${boundText} AND later = 0 AND country = ${boundText} AND typeof(code) = 'integer' ORDER BY names.place`,
  )
  const beginning = database.prepare<[string, string, number], GazetteerEntry>(
    `SELECT ${columns} FROM (
        SELECT place, min(later) AS later FROM names WHERE folded >= ? AND folded < ?
          GROUP BY place ORDER BY later, place LIMIT ?
      ) JOIN places ON places.key = place ORDER BY later, place`,
  )
  return {
    byCode: (code: string | number) => byCode.get(code),
    /** Returns the places with this name, the most important first. */
    named: (name: string): readonly GazetteerEntry[] => named.all(name),
    /** Returns the most important place with this name. */
    firstNamed: (name: string): GazetteerEntry | undefined => firstNamed.get(name),
    /** Returns the cities of a country with this name, the largest first. */
    citiesNamed: (country: string, name: string) => citiesNamed.all(name, country),
    /** Returns places whose name begins so, then those with a later word that does, the most important first. */
    beginning: (text: string, limit: number) => beginning.all(text, `${text}\u{10ffff}`, limit),
  }
}

/** Returns the path of the file: beside the program, above the library's chunks, or in the build of these sources. */
function findFile(): string {
  const paths = ['./places.db', '../places.db', '../../../dist/places.db'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const path = paths.find(existsSync)
  if (path === undefined)
    throw new ApiError('storage_failed', { reason: 'places.db is missing: install the program again' })
  return path
}
