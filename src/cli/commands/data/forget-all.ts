import type { ForgottenRecords } from '../../../catalogue/erasure/erase.js'
import type { Traces } from '../../../catalogue/erasure/identifiers.js'
import type { ErasedWork } from '../../../engine/admin/forget.js'
import type { Clock, Forgotten } from '../../../engine/ports/ports.js'
import type { ForgottenState } from '../../../storage/state/erase.js'
import type { RecordsOnDisk } from './records-on-disk.js'

/** What told of somebody, by where it was. */
export interface Told {
  readonly catalogue: ForgottenRecords
  readonly engine: ErasedWork
  readonly state: ForgottenState
}

/**
 * Deletes somebody from all that is on record, or counts what told of them. The catalogue goes behind the rest, since
 * only it knows what tells of them; whatever was on its way from it by then is looked for once more.
 */
export async function forgetAll(
  records: RecordsOnDisk,
  traces: Traces,
  clock: Clock,
  dryRun: boolean,
): Promise<Told> {
  const { forgottenBy } = await import('../../../catalogue/erasure/matcher.js')
  const { forgetInCatalogue } = await import('../../../catalogue/erasure/erase.js')
  const who = forgottenBy(traces)
  const first = await forgetKept(records, who, clock, dryRun)
  const catalogue = records.catalogue
    ? await forgetInCatalogue(records.catalogue, traces, who, dryRun)
    : { people: 0, phones: 0, engagements: 0, posts: 0, jobs: 0, companies: 0 }
  if (dryRun) return { ...first, catalogue }
  const { engine, state } = await forgetKept(records, who, clock, dryRun)
  return {
    catalogue,
    engine: sum(first.engine, engine),
    state: together(first.state, state),
  }
}

/** What is kept of what was asked and answered. */
async function forgetKept(
  { store, runs }: RecordsOnDisk,
  who: Forgotten,
  clock: Clock,
  dryRun: boolean,
): Promise<Omit<Told, 'catalogue'>> {
  const { eraseFromWork } = await import('../../../engine/admin/forget.js')
  const { forgetInState } = await import('../../../storage/state/erase.js')
  let state: ForgottenState = { events: 0, answers: 0, runs: [] }
  for (const { database } of runs)
    state = together(state, await forgetInState(database, who, clock.now(), dryRun))
  return {
    state,
    engine: store
      ? await eraseFromWork(store, who, dryRun)
      : { records: 0, contacts: 0, jobs: 0, replies: 0 },
  }
}

const together = (one: ForgottenState, other: ForgottenState): ForgottenState => ({
  events: one.events + other.events,
  answers: one.answers + other.answers,
  runs: [...one.runs, ...other.runs],
})

const sum = (one: ErasedWork, other: ErasedWork): ErasedWork => ({
  records: one.records + other.records,
  contacts: one.contacts + other.contacts,
  jobs: one.jobs + other.jobs,
  replies: one.replies + other.replies,
})
