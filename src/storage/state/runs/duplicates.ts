import Database from 'better-sqlite3'
import { isUnknown, type RowAnswer } from '../../../batch/journal/answer.js'
import type { AnsweredRow, JournalRow } from '../../../batch/journal/journal.js'
import { toPlace } from '../../database/row-places.js'
import type { Connection } from '../../driver/connection.js'
import { answersOf, equalIn, type Indexed, indexAnswers, servesEqual } from './answers.js'

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

/** Opens an empty set of numbers in a temporary file without a name, which is gone when closed. */
export function openSeenNumbers() {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec('CREATE TABLE seen (number INTEGER PRIMARY KEY) WITHOUT ROWID; BEGIN')
  const insert = database.prepare('INSERT INTO seen (number) VALUES (?) ON CONFLICT DO NOTHING')
  return {
    /** Adds a number. Returns whether it is new. */
    isNew: (number: number) => insert.run(number).changes === 1,
    close: () => void database.close(),
  }
}
