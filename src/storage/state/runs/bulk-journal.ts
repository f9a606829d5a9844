import type { Accepted, Bulk, BulkJournal, Wanted } from '../../../batch/journal/journal.js'
import type { Connection, Driver } from '../../driver/connection.js'
import { type Budget, budgetLeft, type Claims, grantsOf, type Left, scopeOf } from './budget.js'
import { acceptBulk, type Bulks, dropBulk } from './bulk-requests.js'
import type { Holds } from './holds.js'
import { checkOwn, type OwnedRun, release, reserve as setAside } from './run-counters.js'
import type { Run } from './runs.js'

/** The books of a run that its requests for several rows are entered in. */
export interface JournalParts {
  readonly reserve: Holds
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
  readonly fence?: string | undefined
}

/** What a run in a state database remembers of rows that go out as one request. */
export function bulkJournalOf(driver: Driver, run: Run, options: Options, books: JournalParts): BulkJournal {
  const { reserve, bulks, isCovered, claims } = books
  const { mayRepeat, retryUnknown, missing, budget, now, fence = '' } = options
  const own = { number: run.number, fence }
  const scope = scopeOf(run, budget)
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
      const asked = { own, rows, least, books, now: now() }
      const planned = await driver.transaction(
        async (connection) => plan(connection, asked, await budgetLeft(connection, run, budget, now())),
        scope,
      )
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
      const left = await driver.read(async (reads) => {
        await checkOwn(reads, own)
        return accepted ? undefined : budgetLeft(reads, run, budget, now())
      })
      if (left && grantsOf(covered, left, claims()).length < covered.length) return left.shortage
      // For one that failed nothing is set aside any more; it comes along with the others.
      for (const { ordinal, most } of rows) reserve.hold(ordinal, isCovered(ordinal) ? most : 0, true)
      return undefined
    },
    accept: async (bulk, accepted) => {
      await driver.transaction((connection) => accept(connection, own, bulk, accepted), scope)
      await kept()
    },
    withdraw: async (bulk) => {
      const released = reserve.freshOf(bulk.ordinals)
      await driver.transaction(async (connection) => {
        await dropBulk(connection, bulk.number)
        await release(connection, own, released)
      }, scope)
      reserve.release(bulk.ordinals)
      bulks.drop(bulk)
    },
  }
}

/** Rows that are to go out as one request, as many as there are but no fewer than so many. */
interface Asked {
  readonly own: OwnedRun
  readonly rows: readonly Wanted[]
  readonly least: number
  readonly books: JournalParts
  readonly now: number
}

async function accept(connection: Connection, own: OwnedRun, bulk: Bulk, accepted: Accepted): Promise<void> {
  await checkOwn(connection, own)
  await acceptBulk(connection, bulk, accepted)
}

async function plan(connection: Connection, { own, rows, least, books, now }: Asked, left: Left) {
  const { reserve, bulks, claims } = books
  const { shortage } = left
  const grants = grantsOf(rows, left, claims())
  if (grants.length < least) return { wanted: [], shortage }
  const wanted = rows.slice(0, grants.length)
  const ordinals = wanted.map(({ ordinal }) => ordinal)
  const counted = wanted.filter(({ ordinal }) => !reserve.isRetried(ordinal))
  const bulk = await bulks.add(connection, ordinals, sumOf(counted.map(({ most }) => most)))
  await setAside(connection, own, sumOf(grants.map(({ credits }) => credits)), now)
  return { bulk, wanted, shortage }
}

const sumOf = (credits: readonly number[]): number => credits.reduce((sum, one) => sum + one, 0)
