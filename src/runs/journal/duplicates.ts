import Database from 'better-sqlite3'
import { toPlace } from '../../storage/database/row-places.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { isUnknown, type RowAnswer } from './answer.js'
import { answersAt, answersOf, equalIn, type Indexed, indexAnswers, servesEqual } from './answers.js'
import type { AnsweredRow, JournalRow, StatedAnswer, StatedIdentities } from './journal.js'

/** Finds answers to equal rows. The newest answers wait in memory and are indexed in large portions. */
export class DuplicateAnswers {
  readonly #run: number
  readonly #window: number
  #recent = new Map<string, Indexed & { readonly ordinal: number }>()

  constructor(run: number, window = 16_384) {
    this.#run = run
    this.#window = window
  }

  /** Returns the answer to an equal row of the run; with `retryUnknown` none whose outcome is unknown. */
  async find(connection: Connection, row: JournalRow, retryUnknown: boolean): Promise<RowAnswer | undefined> {
    const answer = await this.#find(connection, row)
    return answer && retryUnknown && isUnknown(answer) ? undefined : answer
  }

  async #find(
    connection: Connection,
    { ordinal, hash, identity }: JournalRow,
  ): Promise<RowAnswer | undefined> {
    if (hash === undefined || identity === undefined) return undefined
    const recent = this.#recent.get(identity)
    if (!recent || recent.ordinal === ordinal) return equalIn(connection, this.#run, ordinal, hash, identity)
    const [kept] = await answersOf(connection, this.#run, recent.ordinal, recent.ordinal + 1)
    return kept?.answer
  }

  /** Whether the waiting answers have to be indexed before these are added. */
  isFullBefore(rows: readonly AnsweredRow[]): boolean {
    return this.#recent.size + rows.length > this.#window
  }

  /** Indexes the waiting answers. */
  index(connection: Connection): Promise<void> {
    return indexAnswers(connection, [...this.#recent.values()])
  }

  /** Adds rows whose answers are recorded; `indexed` says that those before them were indexed. */
  add(rows: readonly AnsweredRow[], indexed: boolean): void {
    if (indexed) this.#recent = new Map()
    for (const { ordinal, identity, hash, repeats, answer } of rows)
      if (repeats && servesEqual(answer) && identity !== undefined && hash !== undefined)
        this.#recent.set(identity, { hash, ordinal, place: toPlace(this.#run, ordinal) })
  }
}

const cacheKb = 16_384

/** Opens an empty database in a temporary file without a name, which is gone when closed. */
function openTemporary(table: string) {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec(`${table}; BEGIN`)
  return database
}

/** Opens an empty set of numbers in a temporary file. */
export function openSeenNumbers() {
  const database = openTemporary('CREATE TABLE seen (number INTEGER PRIMARY KEY) WITHOUT ROWID')
  const insert = database.prepare('INSERT INTO seen (number) VALUES (?) ON CONFLICT DO NOTHING')
  return {
    /** Adds a number. Returns whether it is new. */
    isNew: (number: number) => insert.run(number).changes === 1,
    close: () => void database.close(),
  }
}

/** What the answers of a run state, in a temporary file that is made for the first identity. */
export class StatedInRun implements StatedIdentities {
  #open: ReturnType<typeof openStated> | undefined

  constructor(
    private readonly driver: Driver,
    private readonly run: number,
  ) {}

  add(hash: number, ordinal: number): void {
    this.#open ??= openStated()
    this.#open.insert.run(hash, ordinal)
  }

  find(hash: number): number | undefined {
    return this.#open?.select.get(hash)?.ordinal
  }

  async answers(ordinals: readonly number[]): Promise<ReadonlyMap<number, StatedAnswer>> {
    const kept = await this.driver.read((connection) => answersAt(connection, this.run, ordinals))
    return new Map(kept.map(({ ordinal, answer, answeredAt }) => [ordinal, { answer, answeredAt }]))
  }

  close(): void {
    this.#open?.close()
    this.#open = undefined
  }
}

function openStated() {
  const database = openTemporary(
    'CREATE TABLE stated (hash INTEGER PRIMARY KEY, ordinal INTEGER) WITHOUT ROWID',
  )
  return {
    insert: database.prepare<[number, number]>('INSERT INTO stated VALUES (?, ?) ON CONFLICT DO NOTHING'),
    select: database.prepare<[number], { ordinal: number }>('SELECT ordinal FROM stated WHERE hash = ?'),
    close: () => void database.close(),
  }
}
