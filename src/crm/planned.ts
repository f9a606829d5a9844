import Database from 'better-sqlite3'
import { contradict, type Key, keyText, type SubjectKind } from '../identity/keys.js'
import { translateErrors } from '../storage/driver/sqlite/driver.js'
import type { CrmKind, CrmValues, PushMode } from './connector.js'

/** What becomes of a row, or of the company of a person. */
export interface PlannedRow {
  /** Its number, from 1, and its line in the file. */
  readonly row: number
  readonly line: number
  action: 'create' | 'update' | 'same' | 'review' | 'suppressed' | 'invalid' | 'repeated' | 'unknown'
  id?: string | undefined
  values: CrmValues
  /** What the record has in place of `values`; empty is what it does not have. */
  before: CrmValues
  /** Why it is for a person to look at, or cannot be written. */
  reason?: string | undefined
  /** Of a person: the row with which the company is planned that is to be theirs. */
  company?: number | undefined
  /** Whether the person has a company in the CRM already. */
  hasCompany?: boolean | undefined
}

export type PlannedAction = PlannedRow['action']

/** What is written: records of a kind, or which company a person has. */
export type WriteStep = CrmKind | 'association'

/** A row that the CRM refused, in its own words. */
export interface RefusedRow {
  readonly row: number
  readonly step: WriteStep
  readonly error: string
}

/** A person who is to have a company. */
export interface PlannedPair {
  readonly row: number
  readonly person: string
  readonly company: string
}

interface StoredRow {
  readonly row: number
  readonly line: number
  readonly action: PlannedAction
  readonly id: string | null
  readonly data: string
  readonly before: string
  readonly reason: string | null
  readonly company: number | null
  readonly has_company: number | null
}

const toRow = ({
  row,
  line,
  action,
  id,
  data,
  before,
  reason,
  company,
  has_company,
}: StoredRow): PlannedRow => ({
  row,
  line,
  action,
  id: id ?? undefined,
  values: JSON.parse(data) as CrmValues,
  before: JSON.parse(before) as CrmValues,
  reason: reason ?? undefined,
  company: company ?? undefined,
  hasCompany: has_company === null ? undefined : has_company === 1,
})

interface Reason {
  readonly row: number
  readonly reason: string
}

const rowsAtOnce = 500
const cacheKb = 8_192

const tablesSql = `
  CREATE TABLE planned (
    step TEXT, row INTEGER, line INTEGER, action TEXT, id TEXT, data TEXT, before TEXT, reason TEXT, company INTEGER,
    has_company INTEGER, is_single INTEGER, is_done INTEGER DEFAULT 0, PRIMARY KEY (step, row)
  ) WITHOUT ROWID;
  CREATE TABLE refused (step TEXT, row INTEGER, error TEXT, PRIMARY KEY (row, step)) WITHOUT ROWID;
  CREATE TABLE seen (key TEXT PRIMARY KEY, keys TEXT, row INTEGER, line INTEGER) WITHOUT ROWID;
  CREATE TABLE taken (id TEXT PRIMARY KEY) WITHOUT ROWID`
const columns = 'row, line, action, id, data, before, reason, company, has_company'
const putSql = `INSERT OR REPLACE INTO planned (step, ${columns}, is_single) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const isWritten = "action IN ('create', 'update', 'same')"
/** Whoever gets a company: those who are there already only where a push does more than create. */
const getsCompany = "(p.action = 'create' OR (? <> 'create' AND p.action IN ('update', 'same')))"
const withCompany = `FROM planned p JOIN planned c ON c.step = 'companies' AND c.row = p.company WHERE p.step = 'people'`
const isNotRefused = (row: string, step: WriteStep) =>
  `NOT EXISTS (SELECT 1 FROM refused r WHERE r.row = ${row} AND r.step = '${step}')`

/**
 * The rows of a push and the companies of its people, with what becomes of each, in a temporary file without a name, which is
 * gone when closed: a file of any length takes the same memory.
 */
export class PlannedRows {
  readonly #database = new Database('')
  readonly #statements = new Map<string, Database.Statement>()

  constructor(
    /** What the rows of the file are about. */
    readonly kind: CrmKind,
    /** Whether a record has to be created alone: it could not be found again for certain after a kill. */
    private readonly isSingle: (kind: CrmKind, values: CrmValues) => boolean,
  ) {
    this.#database.pragma('journal_mode = OFF')
    this.#database.pragma('synchronous = OFF')
    this.#database.pragma(`cache_size = -${cacheKb}`)
    this.#database.exec(tablesSql)
    this.#database.exec('BEGIN')
  }

  #prepared(sql: string): Database.Statement {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }

  /** Runs a statement; returns how many rows changed. A disk that is full is told as one. */
  #run(sql: string, ...values: unknown[]): number {
    return translateErrors(() => this.#prepared(sql).run(...values).changes)
  }

  #all<T>(sql: string, ...values: unknown[]): readonly T[] {
    return translateErrors(() => this.#prepared(sql).all(...values) as T[])
  }

  #number(sql: string, ...values: unknown[]): number {
    const [row] = this.#all<object>(sql, ...values)
    return Number(Object.values(row ?? {})[0] ?? 0)
  }

  /** Stores rows as they are now. */
  put(step: CrmKind, rows: readonly PlannedRow[]): void {
    for (const { row, line, action, id, values, before, reason, company, hasCompany } of rows)
      this.#run(
        putSql,
        step,
        row,
        line,
        action,
        id ?? null,
        JSON.stringify(values),
        JSON.stringify(before),
        reason ?? null,
        company ?? null,
        hasCompany === undefined ? null : Number(hasCompany),
        Number(action === 'create' && this.isSingle(step, values)),
      )
  }

  /** Returns the row and line on which a subject was before; nothing where something surer says that it is another. */
  find(kind: SubjectKind, keys: readonly Key[]): Pick<PlannedRow, 'row' | 'line'> | undefined {
    for (const key of keys) {
      const [found] = this.#all<{ readonly keys: string; readonly row: number; readonly line: number }>(
        'SELECT keys, row, line FROM seen WHERE key = ?',
        keyText(kind, key),
      )
      if (found && !contradict(keys, JSON.parse(found.keys) as Key[], key.sort)) return found
    }
    return undefined
  }

  /** Notes the subject of a row. */
  see(kind: SubjectKind, keys: readonly Key[], { row, line }: Pick<PlannedRow, 'row' | 'line'>): void {
    const sql = 'INSERT OR IGNORE INTO seen (key, keys, row, line) VALUES (?, ?, ?, ?)'
    const all = JSON.stringify(keys)
    for (const key of keys) this.#run(sql, keyText(kind, key), all, row, line)
  }

  /** Notes that a row is about a record; returns whether it is the first one. */
  take(id: string): boolean {
    return this.#run('INSERT OR IGNORE INTO taken (id) VALUES (?)', id) > 0
  }

  /** Leaves out the companies that no person gets. */
  dropUnused(): void {
    this.#run(
      `DELETE FROM planned WHERE step = 'companies' AND row NOT IN
        (SELECT company FROM planned WHERE step = 'people' AND company IS NOT NULL AND ${isWritten})`,
    )
  }

  /** People do without a company that is not created. */
  dropCompanies(): void {
    this.#run(
      `UPDATE planned SET company = NULL WHERE step = 'people' AND company IN
        (SELECT row FROM planned WHERE step = 'companies' AND action IN ('invalid', 'suppressed'))`,
    )
  }

  #behind(where: string, limit: number, ...values: unknown[]): readonly PlannedRow[] {
    const sql = `SELECT ${columns} FROM planned WHERE step = ? AND row > ? AND ${where} ORDER BY row LIMIT ${limit}`
    return this.#all<StoredRow>(sql, ...values).map(toRow)
  }

  /** Yields all rows of a step, in portions. They may be changed meanwhile. */
  *portions(step: CrmKind, where = 'TRUE', limit = rowsAtOnce): Generator<readonly PlannedRow[]> {
    for (let last = 0; ; ) {
      const portion = this.#behind(where, limit, step, last)
      if (portion.length > 0) yield portion
      if (portion.length < limit) return
      last = portion.at(-1)?.row ?? last
    }
  }

  /** Yields what is written at a time. What could not be found again for certain goes one by one, at the end. */
  *toWrite(step: CrmKind, action: 'create' | 'update', size: number): Generator<readonly PlannedRow[]> {
    const open = `action = '${action}' AND is_done = 0`
    yield* this.portions(step, `${open} AND is_single = 0`, size)
    for (const portion of this.portions(step, `${open} AND is_single = 1`, size))
      for (const row of portion) yield [row]
  }

  /** Notes that a row was written before, to a record. */
  done(step: CrmKind, row: number, record: string | null): void {
    const sql = 'UPDATE planned SET is_done = 1, id = coalesce(id, ?) WHERE step = ? AND row = ?'
    this.#run(sql, record, step, row)
  }

  /** Yields the people who are to have a company that is there, and have none. */
  *pairs(mode: PushMode, size: number): Generator<readonly PlannedPair[]> {
    const sql = `SELECT p.row, p.id AS person, c.id AS company ${withCompany} AND p.row > ? AND ${getsCompany}
      AND p.id IS NOT NULL AND c.id IS NOT NULL AND p.has_company IS NOT 1 ORDER BY p.row LIMIT ${size}`
    for (let last = 0; ; ) {
      const portion = this.#all<PlannedPair>(sql, last, mode)
      if (portion.length > 0) yield portion
      if (portion.length < size) return
      last = portion.at(-1)?.row ?? last
    }
  }

  refuse(refused: readonly RefusedRow[]): void {
    const sql = 'INSERT OR REPLACE INTO refused (step, row, error) VALUES (?, ?, ?)'
    for (const { step, row, error } of refused) this.#run(sql, step, row, error)
  }

  /** Returns how many rows were refused. */
  countRefused(): number {
    return this.#number('SELECT count(*) FROM refused')
  }

  /** Returns what the CRM said of the first rows that it refused. */
  firstRefusals(limit: number): readonly string[] {
    const sql = `SELECT error FROM refused LIMIT ${limit}`
    return this.#all<{ readonly error: string }>(sql).map(({ error }) => error)
  }

  countRows(): number {
    return this.#number('SELECT count(*) FROM planned WHERE step = ?', this.kind)
  }

  /** Returns how many rows of a step something becomes of; what was refused is not counted. */
  count(action: PlannedAction, step: CrmKind = this.kind): number {
    const open = isNotRefused('planned.row', step)
    return this.#number(
      `SELECT count(*) FROM planned WHERE step = ? AND action = ? AND ${open}`,
      step,
      action,
    )
  }

  /** Returns how many new records go one by one. */
  countSingle(): number {
    return this.#number('SELECT count(*) FROM planned WHERE is_single = 1')
  }

  countCreates(): number {
    return this.#number("SELECT count(*) FROM planned WHERE action = 'create'")
  }

  /** Returns how many rows and companies something is written of. */
  countWrites(mode: PushMode): number {
    const sql = `SELECT count(*) FROM planned WHERE action IN ('create', 'update')
      OR (? <> 'create' AND action = 'same' AND company IS NOT NULL AND has_company = 0)`
    return this.#number(sql, mode)
  }

  /** Returns how many people get a company. */
  countAssociated(mode: PushMode): number {
    const open = [
      isNotRefused('c.row', 'companies'),
      isNotRefused('p.row', 'people'),
      isNotRefused('p.row', 'association'),
    ]
    const sql = `SELECT count(*) ${withCompany} AND ${open.join(' AND ')}
      AND (p.action = 'create' OR (? <> 'create' AND p.has_company = 0))`
    return this.#number(sql, mode)
  }

  /** Returns why rows are invalid, and how many for each reason. */
  invalidReasons(): Readonly<Record<string, number>> {
    const sql = `SELECT reason, count(*) AS count FROM planned WHERE step = ? AND action = 'invalid' AND reason IS NOT NULL
      GROUP BY reason ORDER BY min(row)`
    const rows = this.#all<{ readonly reason: string; readonly count: number }>(sql, this.kind)
    return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]))
  }

  /** Returns the first rows whose records are changed. */
  firstUpdates(limit: number): readonly PlannedRow[] {
    return this.#behind("action = 'update'", limit, this.kind, 0)
  }

  /** Returns why rows from one to another are for a person to decide, or were not taken, by their numbers. */
  reasons(of: 'review' | 'rejects', from: number, to: number): ReadonlyMap<number, string> {
    const action = of === 'review' ? 'review' : 'invalid'
    const sql = `SELECT row, coalesce(reason, '') AS reason FROM planned
      WHERE step = ? AND row BETWEEN ? AND ? AND action = ?`
    const planned = this.#all<Reason>(sql, this.kind, from, to, action)
    const refusedSql = `SELECT row, error AS reason FROM refused WHERE row BETWEEN ? AND ?
      ORDER BY row, step = 'association', step = 'people'`
    const refused = of === 'review' ? [] : this.#all<Reason>(refusedSql, from, to)
    return new Map([...planned, ...refused].map(({ row, reason }) => [row, reason]))
  }

  close(): void {
    this.#database.close()
  }
}
