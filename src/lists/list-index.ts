import Database from 'better-sqlite3'
import type { Fields } from '../api/values/objects.js'
import { hashOf } from '../csv/identity-filter.js'
import { companyIn, personIn, type Sort, surerThan } from '../identity/keys.js'
import { bareNames } from '../identity/written-name.js'

/** Whether a row is in a list. `maybe` is never counted as yes. */
type Verdict = 'yes' | 'maybe' | 'no'

export interface Match {
  readonly verdict: Verdict
  /** What was equal; '' where nothing was. */
  readonly by: string
  readonly list: string
  /** Lines of the list where that row begins, or all rows of a name that several have; none where it has no lines. */
  readonly lines: readonly number[]
  /** The cells that were to be taken from that row. */
  readonly taken: readonly string[]
  /** Those of all rows that may be meant, where there are several; absent where there is one. */
  readonly among?: readonly (readonly string[])[]
}

/** One set of keys of a record of a list. */
type StoredRow = readonly [
  record: bigint,
  line: bigint | null,
  taken: string | null,
  rest: bigint | null,
  ...keys: (bigint | null)[],
]

/** Equal keys of more rows than these say little: a placeholder, or a number that many share. */
const maxCandidates = 100
const cacheKb = 65_536

/** Lists of one kind, whose keys are in a temporary file without a name, which is gone when closed. */
export class ListIndex {
  readonly #database = new Database('')
  readonly #lists: ReturnType<typeof createList>[] = []
  readonly #sure: readonly number[]
  #records = 0

  constructor(private readonly kind: ListKind) {
    const columns: readonly string[] = keyColumns[kind]
    this.#sure = surest[kind].map((name) => columns.indexOf(name))
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

  /** `rest` is what a row says beside its keys: of two rows that only a name identifies, it tells whether they are one. */
  add(line: number | null, sets: readonly RowKeys[], taken?: readonly string[], rest?: () => string): void {
    const text = taken ? JSON.stringify(taken) : null
    const record = this.#records++
    const isNamedOnly = this.#sure.every((at) => sets[0]?.[at] == null)
    const other = isNamedOnly && rest ? keyOf(rest()) : null
    for (const keys of sets) this.#lists.at(-1)?.insert.run(record, line, text, other, ...keys)
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
      const { verdict, by, records, rivals = records } = found
      const [only, ...others] = records
      const taken = others.length === 0 ? only?.taken : undefined
      const several = new Set(rivals.flatMap((one) => one.taken ?? []))
      const match: Match = {
        verdict,
        by,
        list: list.name,
        lines: records.flatMap(({ line }) => (line === null ? [] : [Number(line)])),
        // Of several records it is not known whose cells they are.
        taken: taken ? (JSON.parse(taken) as string[]) : [],
        ...(several.size > 1 ? { among: [...several].map((one) => JSON.parse(one) as string[]) } : {}),
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

const noMatch: Match = { verdict: 'no', by: '', list: '', lines: [], taken: [] }

interface Found {
  readonly verdict: 'yes' | 'maybe'
  readonly by: string
  /** The record that was found, or all that may be meant. */
  readonly records: readonly KnownRecord[]
  /** All that surely have what was looked for, where those are several. */
  readonly rivals?: readonly KnownRecord[]
}

/** A record of a list, with all its sets of keys that have what was looked for. */
interface KnownRecord {
  readonly line: bigint | null
  readonly taken: string | null
  readonly rest: bigint | null
  readonly sets: RowKeys[]
}

function recordsOf(rows: readonly StoredRow[]): readonly KnownRecord[] {
  const records = new Map<bigint, KnownRecord>()
  for (const [record, line, taken, rest, ...keys] of rows) {
    const known = records.get(record)
    if (known) known.sets.push(keys)
    else records.set(record, { line, taken, rest, sets: [keys] })
  }
  const all = [...records]
  return all.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, record]) => record)
}

/** Creates a list in a table of its own. */
function createList(database: Database.Database, number: number, kind: ListKind, name: string) {
  const table = `list_${number}`
  const columns: readonly string[] = keyColumns[kind]
  const keys = columns.map((name) => `${name} INTEGER`)
  database.exec(
    `CREATE TABLE ${table} (record INTEGER, line INTEGER, taken TEXT, rest INTEGER, ${keys.join(', ')})`,
  )
  const places = ['?', '?', '?', '?', ...keys.map(() => '?')]
  let selects: readonly {
    readonly at: number
    readonly judge: Judge
    readonly select: Database.Statement
    /** What else has the name: it may be meant as well. */
    readonly beside: ((keys: RowKeys) => readonly StoredRow[]) | undefined
  }[] = []
  return {
    name,
    insert: database.prepare(`INSERT INTO ${table} VALUES (${places.join(', ')})`),
    /** Makes the list searchable. An index of all rows at once is faster than one that grows. */
    finish(): void {
      if (selects.length > 0) return
      const isUsed = ({ column }: Lookup): boolean =>
        database.prepare(`SELECT 1 FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1`).get() !== undefined
      // A key that no row of the list has need not be looked for.
      const used = lookups[kind].filter(isUsed)
      for (const { column } of used)
        database.exec(`CREATE INDEX ${table}_${column} ON ${table} (${column}) WHERE ${column} IS NOT NULL`)
      const selectBy = (column: string, more = '') => {
        const sql = `SELECT record, line, taken, rest, ${columns.join(', ')} FROM ${table} WHERE ${column} = ?${more}`
        // An index has equal keys in the order of their rows; to ask for that order takes four times as long.
        return database.prepare(`${sql} LIMIT ${maxCandidates}`).raw().safeIntegers()
      }
      const besideOf = ({ column }: Lookup) => {
        if (column !== 'at_domain' || !used.some((one) => one.column === 'at_company')) return undefined
        const select = selectBy('at_company', ' AND domain IS NULL')
        const at = columns.indexOf('at_company')
        return (keys: RowKeys) => (keys[at] == null ? [] : (select.all(keys[at]) as StoredRow[]))
      }
      selects = used.map((way) => ({
        at: columns.indexOf(way.column),
        judge: judgeBy(way, kind),
        select: selectBy(way.column),
        beside: besideOf(way),
      }))
    },
    fingerprint(): unknown {
      const sums = ['rest', ...columns].map((name) => `sum(${name} & 4294967295)`)
      return database
        .prepare(`SELECT count(*), ${sums.join(', ')} FROM ${table}`)
        .raw()
        .get()
    },
    find(sets: readonly RowKeys[]): Found | undefined {
      let doubt: Found | undefined
      for (const { at, judge, select, beside } of selects) {
        let before: bigint | null = null
        for (const keys of sets) {
          const key = keys[at] ?? null
          if (key === null || key === before) continue
          before = key
          const rows = select.all(key) as StoredRow[]
          const found =
            rows.length === 0 ? undefined : judge(sets, keys, recordsOf([...rows, ...(beside?.(keys) ?? [])]))
          // Where several may be meant, a lesser key does not say which.
          if (found?.verdict === 'yes' || (found?.records.length ?? 0) > 1) return found
          doubt ??= found
        }
      }
      return doubt
    },
  }
}

/** Decides whether one of the records with an equal key, of which there is one at least, is the one that is looked for. */
type Judge = (sets: readonly RowKeys[], keys: RowKeys, records: readonly KnownRecord[]) => Found | undefined

/** Whether two records have equal values of a column, or other ones; `undefined` where one has none. */
function compare(one: readonly RowKeys[], other: readonly RowKeys[], at: number): boolean | undefined {
  let isKnown = false
  for (const { [at]: own } of one)
    for (const { [at]: their } of other) {
      if (own == null || their == null) continue
      if (own === their) return true
      isKnown = true
    }
  return isKnown ? false : undefined
}

function judgeBy(
  { by, contradicted, isName, within }: (typeof lookups)[ListKind][number],
  kind: ListKind,
): Judge {
  const columns: readonly string[] = keyColumns[kind]
  const surer = contradicted.map((name) => columns.indexOf(name))
  const place = within === undefined ? -1 : columns.indexOf(within)
  const sure = surest[kind].map((name) => columns.indexOf(name))
  const names = [...columns.keys()].filter((at) => /name|^at_/.test(columns[at] ?? ''))
  const isCalledSo =
    (sets: readonly RowKeys[]) =>
    ({ sets: theirs }: KnownRecord): boolean =>
      names.some((at) => compare(sets, theirs, at) === true)
  /** Whether two records are known to be the same: the surest key that both have decides. */
  const areOne = (record: KnownRecord, beside: KnownRecord): boolean => {
    const [one, other] = [record.sets, beside.sets]
    for (const at of sure) {
      const isEqual = compare(one, other, at)
      if (isEqual !== undefined) return isEqual
    }
    return record.rest === beside.rest && columns.every((_, at) => one[0]?.[at] === other[0]?.[at])
  }
  return (sets, keys, records) => {
    const isElsewhere = ({ sets: theirs }: KnownRecord) => compare([keys], theirs, place) === false
    const isPlaced = ({ sets: theirs }: KnownRecord) => compare([keys], theirs, place) !== undefined
    const isOther = ({ sets: theirs }: KnownRecord) => surer.some((at) => compare(sets, theirs, at) === false)
    const near = place < 0 ? records : records.filter((one) => !isElsewhere(one))
    const certain = near.filter((one) => !isOther(one) && (place < 0 || isPlaced(one)))
    // Subsidiaries share a domain, and people a mailbox.
    const found = certain.length > 1 ? (certain.find(isCalledSo(sets)) ?? certain[0]) : certain[0]
    const record = found ?? near[0]
    if (record === undefined) return undefined
    // A name does not say which of those is meant who have it.
    if (isName && near.some((one) => one !== record && !areOne(one, record)))
      return { verdict: 'maybe', by, records: near }
    const rivals = certain.length > 1 ? { rivals: certain } : {}
    return { verdict: found ? 'yes' : 'maybe', by, records: [record], ...rivals }
  }
}

export type ListKind = 'companies' | 'people'

/** Hashes of what identifies a row, in the order of `keyColumns`; null for what it does not say. */
export type RowKeys = readonly (bigint | null)[]

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

/** What identifies alone, the surest first. The domain of people is that of their company. */
const surest: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['id', 'slug', 'domain'],
  people: ['id', 'slug', 'email'],
}

/** Returns a way to find a row by a key of a sort. What is surer is a matter of `sorts`, here as everywhere. */
function lookupBy(kind: ListKind, sort: Sort, column: string = sort): Lookup {
  const columns: readonly string[] = keyColumns[kind]
  const contradicted = surerThan(sort).filter((one) => columns.includes(one) && one !== column)
  const by =
    sort === 'slug' || (kind === 'people' && sort === 'id') ? 'profile' : sort === 'id' ? 'network_id' : sort
  if (sort !== 'name') return { by, column, contradicted }
  // A name at a domain says what the domain is.
  const others = contradicted.filter((one) => one !== 'domain' || column !== 'at_domain')
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

/** Reads the keys of fields with the names of any operation, a set for each email address and spelling of a name. */
export const keyReader = (kind: ListKind): ((fields: Fields) => readonly RowKeys[]) =>
  kind === 'people' ? personKeys : companyKeys

function companyKeys(fields: Fields): readonly RowKeys[] {
  const { domain, slug, id, name, folded, country } = companyIn(fields)
  const before = [domain, slug, id, folded, country].map(keyOf)
  return bareNamesOf(name, folded).map((bare) => [...before, keyOf(bare)])
}

const bareNamesOf = (
  name: string | undefined,
  folded: string | undefined,
): readonly (string | undefined)[] => (name === undefined ? none : bareNames(name, folded))

function personKeys(fields: Fields): readonly RowKeys[] {
  const { slug, id, emails, name, employer } = personIn(fields)
  const { domain, folded } = employer
  const own = [keyOf(slug), keyOf(id)]
  const addresses = (emails.length === 0 ? none : emails).map(keyOf)
  const sets: RowKeys[] = []
  for (const bare of bareNamesOf(employer.name, folded)) {
    const at = (place: string | undefined) => keyOf(name && place && `${name}\n${place}`)
    const places = [at(domain), at(folded), keyOf(domain), at(bare)]
    for (const email of addresses) sets.push([email, ...own, ...places])
  }
  return sets
}

const none = [undefined] as const

const halves = new Uint32Array(2)
const joined = new BigInt64Array(halves.buffer)

/** Returns the 64-bit hash of a text; null where there is none. */
function keyOf(text: string | undefined): bigint | null {
  if (text === undefined || text === '') return null
  halves.set(hashOf(text))
  return joined[0] ?? null
}
