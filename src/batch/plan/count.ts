import type { Row } from '../../csv/parse.js'
import type { Table } from '../input/read.js'
import type { Journal, Recalled } from '../journal/journal.js'
import type { Batch } from '../run/batch.js'
import { type Preparing, prepare } from '../run/prepare.js'
import { Group, type Slot } from '../run/row-batch.js'
import type { Counted } from './quote.js'

/** A file whose rows are counted, and what is known of them already. */
export interface Counting extends Preparing {
  readonly table: Pick<Table, 'header' | 'rows'>
  /** Which rows have answers; nothing is put on record. */
  readonly journal: Pick<Journal, 'resume' | 'recall'>
  /** Rows that are not looked up. */
  readonly skip?: Batch['skip']
  /** Takes an identity up and tells whether it is new; asked only of those that may come more than once. */
  readonly isNew: (hash: number) => boolean
  /** Credits there are to pay with. */
  readonly funds: number
  /** Told how many rows have been counted. */
  readonly onCounted?: (rows: number) => void
}

const groupSize = 256

/** Goes through a file as a run would, in constant memory, and counts what its rows would need; sends nothing. */
export async function countRows(counting: Counting): Promise<Counted> {
  const counter = new Counter(counting)
  for await (const rows of counting.table.rows()) {
    for (let at = 0; at < rows.length; at += groupSize) await counter.count(rows.slice(at, at + groupSize))
    counting.onCounted?.(counter.counted.rows)
  }
  return counter.counted
}

type Counts = { -readonly [name in keyof Counted]: number }

class Counter {
  readonly #counting: Counting
  readonly counted: Counts = {
    ...{ rows: 0, unique: 0, inStore: 0, answered: 0, invalid: 0, skipped: 0, lookups: 0, most: 0 },
    affordable: 0,
  }

  constructor(counting: Counting) {
    this.#counting = counting
  }

  async count(rows: readonly Row[]): Promise<void> {
    const { counted } = this
    const { journal, skip } = this.#counting
    const first = counted.rows
    const { slots } = new Group(rows, first)
    const meant = slots.filter(({ row }) => skip?.(row.cells) !== true)
    const valid = meant.filter((slot) => prepare(this.#counting, slot) === undefined)
    counted.skipped += slots.length - meant.length
    counted.invalid += meant.length - valid.length
    const resumed = await journal.resume(first, first + slots.length)
    const leaders = valid.filter((slot) => this.#isOpen(slot, resumed.get(slot.ordinal)))
    const recalled = await journal.recall(leaders)
    const sent = new Set(leaders.filter((_, at) => recalled[at] === undefined))
    counted.lookups += sent.size
    counted.inStore += recalled.filter((one) => one?.source === 'store').length
    for (const slot of slots) this.#pay(sent.has(slot) ? slot.most : 0)
  }

  /** Whether a row needs an answer of its own: it has none, and no equal row comes before it. */
  #isOpen(slot: Slot, own: Recalled | undefined): boolean {
    // An answer that serves no equal row leaves the next of them to be looked up.
    const serves = own === undefined || ['found', 'not_found'].includes(own.answer.status)
    const { isNew } = this.#counting
    const isFirst = !slot.repeats || slot.hash === undefined || !serves || isNew(slot.hash)
    if (isFirst) this.counted.unique++
    if (own) this.counted.answered++
    return isFirst && !own
  }

  /** Counts a row with what it can cost. */
  #pay(credits: number): void {
    const { counted } = this
    counted.most += credits
    if (counted.affordable === counted.rows && counted.most <= this.#counting.funds) counted.affordable++
    counted.rows++
  }
}
