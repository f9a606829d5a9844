import type { Driver } from '../driver/connection.js'
import { type ErasedWork, eraseFromEngine, noWorkErased } from './engine-tables.js'
import { type ErasedState, eraseFromState } from './state-tables.js'
import type { SubjectMatcher } from './traversal.js'

/** The databases with personal data. Those that do not exist are absent. */
interface ErasureDatabases<ErasedRecords> {
  readonly engine: Driver | undefined
  /** Databases with runs and received events: this machine's, and one that machines share. */
  readonly states: readonly Driver[]
  /** Erases the person from the catalogue; with `dryRun` it only counts. */
  eraseCatalogue(dryRun: boolean): Promise<ErasedRecords>
}

/** What was erased, by database. */
export interface Erased<ErasedRecords> {
  readonly catalogue: ErasedRecords
  readonly engine: ErasedWork
  readonly state: ErasedState
}

/**
 * Erases a person from all databases. The catalogue comes last, since only it knows the person's identifiers. Jobs and
 * runs are then erased once more, because they may have read the catalogue meanwhile. With `dryRun` it only counts; `now` is
 * real time.
 */
export async function eraseEverywhere<ErasedRecords>(
  { engine, states, eraseCatalogue }: ErasureDatabases<ErasedRecords>,
  subject: SubjectMatcher,
  { now, dryRun }: { readonly now: number; readonly dryRun: boolean },
): Promise<Erased<ErasedRecords>> {
  const work: Record<keyof ErasedWork, number> = { ...noWorkErased }
  let state: ErasedState = { events: 0, answers: 0, files: [] }
  const eraseWorkAndRuns = async () => {
    for (const database of states) {
      const { events, answers, files } = await eraseFromState(database, subject, now, dryRun)
      state = {
        events: state.events + events,
        answers: state.answers + answers,
        files: [...state.files, ...files],
      }
    }
    if (!engine) return
    const erased = await eraseFromEngine(engine, subject, dryRun)
    for (const name of Object.keys(work) as (keyof ErasedWork)[]) work[name] += erased[name]
  }
  await eraseWorkAndRuns()
  const catalogue = await eraseCatalogue(dryRun)
  if (!dryRun) await eraseWorkAndRuns()
  return { catalogue, engine: work, state }
}
