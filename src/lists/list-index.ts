import Database from 'better-sqlite3'
import type { Fields } from '../api/values/objects.js'
import { hashOf } from '../csv/identity-filter.js'
import { companyIn, personIn, type Sort, surerThan } from '../identity/keys.js'
import { bareName } from '../identity/written-name.js'

/** Whether a row is in a list. `maybe` is never counted as yes. */
type Verdict = 'yes' | 'maybe' | 'no'

export interface Match {
  readonly verdict: Verdict
  /** What was equal; '' where nothing was. */
  readonly by: string
  readonly list: string
  /** Line of the list where that row begins; null where it has no lines. */
  readonly line: number | null
  /** The cells that were to be taken from that row. */
  readonly taken: readonly string[]
}

type StoredRow = readonly [line: bigint | null, taken: string | null, ...keys: (bigint | null)[]]

/** Equal keys of more rows than these say little: a placeholder, or a number that many share. */
const maxCandidates = 100
const cacheKb = 65_536

/** Lists of one kind, whose keys are in a temporary file without a name, which is gone when closed. */
export class ListIndex {
  readonly #database = new Database('')
  readonly #lists: ReturnType<typeof createList>[] = []

  constructor(private readonly kind: ListKind) {
    this.#database.pragma('journal_mode = OFF')
    this.#database.pragma('synchronous = OFF')
    this.#database.pragma(`cache_size = -${cacheKb}`)
    this.#database.exec('BEGIN')
  }

  /** Begins a list. Rows are added to the last one. */
  begin(name: string): void {
    this.#lists.at(-1)?.finish()
    this.#lists.push(createList(this.#database, this.#lists.length, this.kind, name))
  }

  add(line: number | null, sets: readonly RowKeys[], taken?: readonly string[]): void {
    const text = taken ? JSON.stringify(taken) : null
    for (const keys of sets) this.#lists.at(-1)?.insert.run(line, text, ...keys)
  }

  /** Ends the last list. Returns what is equal for the same lists, in any order of their rows. */
  finish(): string {
    this.#lists.at(-1)?.finish()
    return JSON.stringify([this.kind, ...this.#lists.map((list) => list.fingerprint())])
  }

  /** Returns the match in the first list that surely has a row, else in the first that may have it. */
  find(sets: readonly RowKeys[]): Match {
    let doubt = noMatch
    for (const list of this.#lists) {
      const found = list.find(sets)
      if (found === undefined || (found.verdict === 'maybe' && doubt !== noMatch)) continue
      const [line, taken] = found.row
      const match = {
        verdict: found.verdict,
        by: found.by,
        list: list.name,
        line: line === null ? null : Number(line),
        taken: taken === null ? [] : (JSON.parse(taken) as string[]),
      }
      if (found.verdict === 'yes') return match
      doubt = match
    }
    return doubt
  }

  close(): void {
    this.#database.close()
  }
}

const noMatch: Match = { verdict: 'no', by: '', list: '', line: null, taken: [] }

interface FoundRow {
  readonly verdict: 'yes' | 'maybe'
  readonly by: string
  readonly row: StoredRow
}

/** Keys of a row before those of `StoredRow`. */
const firstKey = 2

/** Creates a list in a table of its own. */
function createList(database: Database.Database, number: number, kind: ListKind, name: string) {
  const table = `list_${number}`
  const columns: readonly string[] = keyColumns[kind]
  const keys = columns.map((name) => `${name} INTEGER`)
  database.exec(`CREATE TABLE ${table} (line INTEGER, taken TEXT, ${keys.join(', ')})`)
  const places = ['?', '?', ...keys.map(() => '?')]
  let selects: readonly {
    readonly at: number
    readonly judge: Judge
    readonly select: Database.Statement
  }[] = []
  return {
    name,
    insert: database.prepare(`INSERT INTO ${table} VALUES (${places.join(', ')})`),
    /** Makes the list searchable. An index of all rows at once is faster than one that grows. */
    finish(): void {
      if (selects.length > 0) return
      selects = lookups[kind].flatMap((way) => {
        const { column } = way
        // A key that no row of the list has need not be looked for.
        const isUsed = database.prepare(`SELECT 1 FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1`)
        if (isUsed.get() === undefined) return []
        database.exec(`CREATE INDEX ${table}_${column} ON ${table} (${column}) WHERE ${column} IS NOT NULL`)
        const sql = `SELECT line, taken, ${columns.join(', ')} FROM ${table} WHERE ${column} = ?`
        // An index has equal keys in the order of their rows; to ask for that order takes four times as long.
        const select = database.prepare(`${sql} LIMIT ${maxCandidates}`).raw().safeIntegers()
        return [{ at: columns.indexOf(column), judge: judgeBy(way, columns), select }]
      })
    },
    fingerprint(): unknown {
      const sums = columns.map((name) => `sum(${name} & 4294967295)`)
      return database
        .prepare(`SELECT count(*), ${sums.join(', ')} FROM ${table}`)
        .raw()
        .get()
    },
    find(sets: readonly RowKeys[]): FoundRow | undefined {
      let doubt: FoundRow | undefined
      for (const { at, judge, select } of selects) {
        let before: bigint | null = null
        for (const keys of sets) {
          const key = keys[at] ?? null
          if (key === null || key === before) continue
          before = key
          const rows = select.all(key) as StoredRow[]
          const found = rows.length === 0 ? undefined : judge(keys, rows)
          if (found?.verdict === 'yes') return found
          doubt ??= found
        }
      }
      return doubt
    },
  }
}

/** Decides whether one of the rows with an equal key is the one that is looked for. */
type Judge = (keys: RowKeys, rows: readonly StoredRow[]) => FoundRow | undefined

function judgeBy(
  { by, contradicted, isName, within }: (typeof lookups)[ListKind][number],
  columns: readonly string[],
): Judge {
  const surer = contradicted.map((name) => columns.indexOf(name))
  const place = within === undefined ? -1 : columns.indexOf(within)
  const differ = (one: bigint | null | undefined, other: bigint | null | undefined) =>
    one != null && other != null && one !== other
  return (keys, rows) => {
    const isOther = (row: StoredRow) =>
      surer.some((at) => differ(keys[at], row[at + firstKey] as bigint | null))
    const isElsewhere = (row: StoredRow) =>
      place >= 0 && differ(keys[place], row[place + firstKey] as bigint | null)
    const isPlaced = (row: StoredRow) => place < 0 || (keys[place] != null && row[place + firstKey] != null)
    const near = place < 0 ? rows : rows.filter((row) => !isElsewhere(row))
    const [sure, ...others] = near.filter((row) => !isOther(row) && isPlaced(row))
    const row = sure ?? near[0]
    if (row === undefined) return undefined
    const isAmbiguous =
      isName === true &&
      others.some((other) =>
        surer.some((at) => differ(sure?.[at + firstKey] as bigint, other[at + firstKey] as bigint)),
      )
    return { verdict: sure && !isAmbiguous ? 'yes' : 'maybe', by, row }
  }
}

export type ListKind = 'companies' | 'people'

/** Hashes of what identifies a row, in the order of `keyColumns`; null for what it does not say. */
type RowKeys = readonly (bigint | null)[]

/** One way to find a row: by equal values of a column, unless something surer says that it is someone else. */
interface Lookup {
  /** The word for it in `_match_by`. */
  readonly by: string
  readonly column: string
  /** Columns that identify more surely. Where both rows have one and they differ, the match is in doubt. */
  readonly contradicted: readonly string[]
  /** Whether equal values alone do not identify: the rows that have them must not contradict each other. */
  readonly isName?: true
  /** A column that both rows must have for a certain match, and that must be equal for any. */
  readonly within?: string
}

const keyColumns = {
  companies: ['domain', 'slug', 'id', 'name', 'country', 'bare_name'],
  people: ['email', 'slug', 'id', 'at_domain', 'at_company', 'domain', 'at_bare_name'],
} as const satisfies Record<ListKind, readonly string[]>

/** Returns a way to find a row by a key of a sort. What is surer is a matter of `sorts`, here as everywhere. */
function lookupBy(kind: ListKind, sort: Sort, column: string = sort): Lookup {
  const columns: readonly string[] = keyColumns[kind]
  const contradicted = surerThan(sort).filter((one) => columns.includes(one) && one !== column)
  const by =
    sort === 'slug' || (kind === 'people' && sort === 'id') ? 'profile' : sort === 'id' ? 'network_id' : sort
  if (sort !== 'name') return { by, column, contradicted }
  // A name at a domain says what the domain is. A person with two addresses has two sets of keys here, which would differ.
  const others = contradicted.filter((one) => one !== 'email' && (one !== 'domain' || column !== 'at_domain'))
  return {
    by,
    column,
    contradicted: others,
    isName: true,
    ...(kind === 'companies' ? { within: 'country' } : {}),
  }
}

/** How rows are found, the first way that decides first. */
const lookups: Readonly<Record<ListKind, readonly Lookup[]>> = {
  companies: [
    lookupBy('companies', 'domain'),
    lookupBy('companies', 'slug'),
    lookupBy('companies', 'id'),
    lookupBy('companies', 'name'),
    lookupBy('companies', 'name', 'bare_name'),
  ],
  people: [
    lookupBy('people', 'email'),
    lookupBy('people', 'slug'),
    lookupBy('people', 'id'),
    lookupBy('people', 'name', 'at_domain'),
    lookupBy('people', 'name', 'at_company'),
    lookupBy('people', 'name', 'at_bare_name'),
  ],
}

/** Reads the keys of fields with the names of any operation. A person with two email addresses has a set of keys for each. */
export const keyReader = (kind: ListKind): ((fields: Fields) => readonly RowKeys[]) =>
  kind === 'people' ? personKeys : (fields) => [companyKeys(fields)]

function companyKeys(fields: Fields): RowKeys {
  const { domain, slug, id, name, folded, country } = companyIn(fields)
  return [domain, slug, id, folded, country, name && bareName(name, folded)].map(keyOf)
}

function personKeys(fields: Fields): readonly RowKeys[] {
  const { slug, id, emails, name, employer } = personIn(fields)
  const { domain, folded } = employer
  const bare = employer.name && bareName(employer.name, folded)
  const at = (place: string | undefined) => keyOf(name && place && `${name}\n${place}`)
  const others = [keyOf(slug), keyOf(id), at(domain), at(folded), keyOf(domain), at(bare)]
  return (emails.length === 0 ? [undefined] : emails).map((email) => [keyOf(email), ...others])
}

const halves = new Uint32Array(2)
const joined = new BigInt64Array(halves.buffer)

/** Returns the 64-bit hash of a text; null where there is none. */
function keyOf(text: string | undefined): bigint | null {
  if (text === undefined || text === '') return null
  halves.set(hashOf(text))
  return joined[0] ?? null
}
