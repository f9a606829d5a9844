import { type Answer, isUnknown } from '../../../batch/journal/answer.js'
import type { Answered, JournalRow } from '../../../batch/journal/journal.js'
import type { Connection } from '../../driver/connection.js'
import { toPlace } from '../../engine/row-replies.js'
import { answersOf, equalIn, type Indexed, indexAnswers, servesEqual } from './answers.js'

/** Where the answers to lookups that repeat are: the newest wait in memory, to go into the index in large portions. */
export class DuplicateAnswers {
  readonly #run: number
  readonly #window: number
  #recent = new Map<string, Indexed & { readonly ordinal: number }>()

  constructor(run: number, window = 16_384) {
    this.#run = run
    this.#window = window
  }

  /** The answer to an equal row of the run; `retryUnknown` takes none whose outcome is unknown. */
  async find(connection: Connection, row: JournalRow, retryUnknown: boolean): Promise<Answer | undefined> {
    const answer = await this.#find(connection, row)
    return answer && retryUnknown && isUnknown(answer) ? undefined : answer
  }

  async #find(connection: Connection, { ordinal, hash, identity }: JournalRow): Promise<Answer | undefined> {
    if (hash === undefined || identity === undefined) return undefined
    const recent = this.#recent.get(identity)
    if (!recent || recent.ordinal === ordinal) return equalIn(connection, this.#run, ordinal, hash, identity)
    const [kept] = await answersOf(connection, this.#run, recent.ordinal, recent.ordinal + 1)
    return kept?.answer
  }

  /** Whether what waits is to go into the index before these rows. */
  isFullBefore(rows: readonly Answered[]): boolean {
    return this.#recent.size + rows.length > this.#window
  }

  /** Puts what waits into the index. */
  index(connection: Connection): Promise<void> {
    return indexAnswers(connection, [...this.#recent.values()])
  }

  /** Takes up rows whose answers are on record; `indexed` says that those before them are in the index. */
  add(rows: readonly Answered[], indexed: boolean): void {
    if (indexed) this.#recent = new Map()
    for (const { ordinal, identity, hash, repeats, answer } of rows)
      if (repeats && servesEqual(answer) && identity !== undefined && hash !== undefined)
        this.#recent.set(identity, { hash, ordinal, place: toPlace(this.#run, ordinal) })
  }
}
