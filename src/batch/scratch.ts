import { hashNumber, hashOf, IdentityFilter, type RepeatFilter } from '../csv/identity-filter.js'
import type { Connection, Driver } from '../storage/driver.js'
import type { Answer, Status } from './answer.js'
import type { Answered, Journal, JournalRow, Recalled } from './journal.js'

/** Choices about a scratch journal. */
export interface ScratchOptions {
  /** Rows that will come, about. */
  readonly expected?: number
  /** Identities whose answers may be needed again; others are not kept. */
  readonly repeats?: RepeatFilter | undefined
  /** Answers whose place is held in memory before it goes into the index on disk. */
  readonly window?: number
}

interface Kept {
  readonly status: Status
  readonly error: string | null
  readonly body: string | null
}

const schema = `
  CREATE TABLE answers (
    ordinal INTEGER PRIMARY KEY, identity TEXT NOT NULL, status TEXT NOT NULL, error TEXT, body TEXT
  );
  CREATE TABLE places (hash INTEGER NOT NULL, ordinal INTEGER NOT NULL, PRIMARY KEY (hash, ordinal)) WITHOUT ROWID;
`

/**
 * A journal for one run, on an empty SQLite database that is thrown away afterwards. Answers are appended in the
 * order they come. Their index is filled from memory in sorted portions, because single inserts at random places of
 * a large index cost five times more; a filter spares the look-ups of identities that were never seen.
 */
export async function createScratch(driver: Driver, options: ScratchOptions = {}): Promise<Journal> {
  await driver.transaction((connection) => connection.exec(schema))
  return new Scratch(driver, options)
}

class Scratch implements Journal {
  readonly #driver: Driver
  readonly #window: number
  readonly #repeats: RepeatFilter | undefined
  readonly #seen: IdentityFilter
  /** Ordinals by identity, of answers that the index does not have yet. */
  #recent = new Map<string, number>()

  constructor(driver: Driver, options: ScratchOptions) {
    this.#driver = driver
    this.#window = options.window ?? 16_384
    this.#repeats = options.repeats
    this.#seen = new IdentityFilter(options.expected ?? 1_000_000)
  }

  async recall(rows: readonly JournalRow[]): Promise<readonly (Recalled | undefined)[]> {
    const maybe = rows.map(({ identity }) => identity !== undefined && this.#seen.has(hashOf(identity)))
    if (!maybe.includes(true)) return []
    return this.#driver.read((connection) =>
      inTurn(rows, (row, at) => (maybe[at] ? this.#find(connection, row.identity as string) : undefined)),
    )
  }

  async plan(): Promise<readonly undefined[]> {
    return []
  }

  async keep(rows: readonly Answered[]): Promise<void> {
    const named = rows.filter(isNamed).filter(({ identity }) => this.#repeats?.has(hashOf(identity)) ?? true)
    if (named.length === 0) return
    const full = this.#recent.size + named.length > this.#window
    await this.#driver.transaction(async (connection) => {
      if (full) await this.#index(connection)
      for (const row of named)
        await connection.run(
          'INSERT INTO answers (ordinal, identity, status, error, body) VALUES (?, ?, ?, ?, ?)',
          row.ordinal,
          row.identity,
          row.answer.status,
          row.answer.error,
          row.answer.body === undefined ? null : JSON.stringify(row.answer.body),
        )
    })
    if (full) this.#recent = new Map()
    for (const { identity, ordinal } of named) {
      this.#recent.set(identity, ordinal)
      this.#seen.add(hashOf(identity))
    }
  }

  async written(): Promise<void> {}

  async close(): Promise<void> {
    await this.#driver.close()
  }

  async #index(connection: Connection): Promise<void> {
    const places = Array.from(this.#recent, ([identity, ordinal]) => ({
      hash: hashNumber(hashOf(identity)),
      ordinal,
    }))
    places.sort((a, b) => a.hash - b.hash)
    for (const { hash, ordinal } of places)
      await connection.run('INSERT INTO places (hash, ordinal) VALUES (?, ?)', hash, ordinal)
  }

  async #find(connection: Connection, identity: string): Promise<Recalled | undefined> {
    const recent = this.#recent.get(identity)
    const kept =
      recent === undefined
        ? await connection.get<Kept>(
            'SELECT status, error, body FROM places JOIN answers USING (ordinal) WHERE hash = ? AND identity = ?',
            hashNumber(hashOf(identity)),
            identity,
          )
        : await connection.get<Kept>('SELECT status, error, body FROM answers WHERE ordinal = ?', recent)
    return kept && { answer: answerOf(kept), source: 'duplicate', credits: 0 }
  }
}

const isNamed = (row: Answered): row is Answered & { readonly identity: string } => row.identity !== undefined

function answerOf({ status, error, body }: Kept): Answer {
  return { status, error, body: body === null ? undefined : JSON.parse(body), credits: 0 }
}

async function inTurn<T, R>(
  items: readonly T[],
  work: (item: T, at: number) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  for (const [at, item] of items.entries()) results.push(await work(item, at))
  return results
}
