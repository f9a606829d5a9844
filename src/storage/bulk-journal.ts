import type { Bulk, BulkJournal } from '../batch/journal.js'
import { type Budget, budgetLeft, type Claims, grantsOf } from './budget.js'
import { acceptBulk, type Bulks, dropBulk } from './bulks.js'
import type { Driver } from './driver.js'
import type { Reserve } from './reserve.js'
import type { Run } from './runs.js'

/** The books of a run that its requests for several rows are entered in. */
export interface Books {
  readonly reserve: Reserve
  readonly bulks: Bulks
  /** Whether an earlier part set credits aside for a row that has no answer. */
  readonly isCovered: (ordinal: number) => boolean
  readonly claims: () => Claims
}

/** Of how a run is kept, what its requests for several rows need. */
interface Options {
  readonly now: () => number
  readonly budget: Budget
  readonly mayRepeat: boolean
  readonly retryUnknown: boolean
  readonly missing?: object | undefined
}

const reserveSql = 'UPDATE runs SET reserved = reserved + ?, ended_at = ? WHERE number = ?'
const releaseSql = 'UPDATE runs SET reserved = max(0, reserved - ?) WHERE number = ?'

/** What a run in a state database remembers of rows that go out as one request. */
export function bulkJournalOf(driver: Driver, run: Run, options: Options, books: Books): BulkJournal {
  const { reserve, bulks, isCovered, claims } = books
  const { mayRepeat, retryUnknown, missing, budget, now } = options
  // Where a request could be paid twice, nothing may forget that it was sent.
  const kept = () => (mayRepeat ? undefined : driver.flush())
  /** The target took it, and has told nothing of the rows that are left. */
  const isGivenUp = ({ accepted, ordinals }: Bulk): boolean => {
    const left = ordinals.filter((ordinal) => bulks.has(ordinal))
    return accepted !== undefined && retryUnknown && left.every((ordinal) => reserve.isRetried(ordinal))
  }
  return {
    open: () => {
      if (missing) return []
      const sent = bulks.range.filter(({ accepted }) => accepted || mayRepeat || retryUnknown)
      return sent.map((bulk) => (isGivenUp(bulk) ? { ...bulk, isGivenUp: true } : bulk))
    },
    plan: async (rows, least) => {
      const planned = await driver.transaction(async (connection) => {
        const left = await budgetLeft(connection, run, budget, now())
        const { shortage } = left
        const grants = grantsOf(rows, left, claims())
        if (grants.length < least) return { wanted: [], shortage }
        const wanted = rows.slice(0, grants.length)
        const ordinals = wanted.map(({ ordinal }) => ordinal)
        const counted = wanted.filter(({ ordinal }) => !reserve.isRetried(ordinal))
        const bulk = await bulks.add(connection, ordinals, sumOf(counted.map(({ most }) => most)))
        await connection.run(reserveSql, sumOf(grants.map(({ credits }) => credits)), now(), run.number)
        return { bulk, wanted, shortage }
      })
      await kept()
      const { bulk, wanted, shortage } = planned
      for (const { ordinal, most } of wanted) {
        reserve.hold(ordinal, most, isCovered(ordinal))
        if (bulk) bulks.note(ordinal, bulk, !reserve.isRetried(ordinal))
      }
      return { bulk, shortage }
    },
    reopen: async ({ accepted }, rows) => {
      const covered = rows.filter(({ ordinal }) => isCovered(ordinal))
      // What a target has accepted costs what it costs; only its results are asked for.
      const left = accepted ? undefined : await driver.read((reads) => budgetLeft(reads, run, budget, now()))
      if (left && grantsOf(covered, left, claims()).length < covered.length) return left.shortage
      // For one that failed nothing is set aside any more; it comes along with the others.
      for (const { ordinal, most } of rows) reserve.hold(ordinal, isCovered(ordinal) ? most : 0, true)
      return undefined
    },
    accept: async (bulk, accepted) => {
      await driver.transaction((connection) => acceptBulk(connection, bulk, accepted))
      await kept()
    },
    withdraw: async (bulk) => {
      const released = reserve.freshOf(bulk.ordinals)
      await driver.transaction(async (connection) => {
        await dropBulk(connection, bulk.number)
        await connection.run(releaseSql, released, run.number)
      })
      reserve.release(bulk.ordinals)
      bulks.drop(bulk)
    },
  }
}

const sumOf = (credits: readonly number[]): number => credits.reduce((sum, one) => sum + one, 0)
