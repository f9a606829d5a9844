import type { Driver } from '../driver/connection.js'
import { type ErasedState, eraseFromState } from './state-tables.js'
import type { SubjectMatcher } from './traversal.js'

/** Numbers of what was erased, by name. */
type Counts = Readonly<Record<string, number>>

/** The databases with personal data. What erases from one only counts with `dryRun`. */
interface ErasureDatabases<ErasedRecords, ErasedWork extends Counts> {
  /** Databases with runs and received events: this machine's, and one that machines share. */
  readonly states: readonly Driver[]
  eraseEngine(dryRun: boolean): Promise<ErasedWork>
  eraseCatalogue(dryRun: boolean): Promise<ErasedRecords>
}

/** What was erased, by database. */
export interface Erased<ErasedRecords, ErasedWork extends Counts> {
  readonly catalogue: ErasedRecords
  readonly engine: ErasedWork
  readonly state: ErasedState
}

/**
 * Erases a person from all databases. The catalogue comes last, since only it knows the person's identifiers. Jobs and
 * runs are then erased once more, because they may have read the catalogue meanwhile. With `dryRun` it only counts; `now` is
 * real time.
 */
export async function eraseEverywhere<ErasedRecords, ErasedWork extends Counts>(
  { states, eraseEngine, eraseCatalogue }: ErasureDatabases<ErasedRecords, ErasedWork>,
  subject: SubjectMatcher,
  { now, dryRun }: { readonly now: number; readonly dryRun: boolean },
): Promise<Erased<ErasedRecords, ErasedWork>> {
  const eraseWorkAndRuns = async (): Promise<Omit<Erased<ErasedRecords, ErasedWork>, 'catalogue'>> => {
    let state: ErasedState = { events: 0, answers: 0, files: [] }
    for (const database of states)
      state = addState(state, await eraseFromState(database, subject, now, dryRun))
    return { engine: await eraseEngine(dryRun), state }
  }
  const first = await eraseWorkAndRuns()
  const catalogue = await eraseCatalogue(dryRun)
  if (dryRun) return { catalogue, ...first }
  const again = await eraseWorkAndRuns()
  return {
    catalogue,
    engine: addCounts(first.engine, again.engine),
    state: addState(first.state, again.state),
  }
}

const addState = (one: ErasedState, other: ErasedState): ErasedState => ({
  events: one.events + other.events,
  answers: one.answers + other.answers,
  files: [...one.files, ...other.files],
})

const addCounts = <T extends Counts>(one: T, other: T): T =>
  Object.fromEntries(Object.entries(one).map(([name, count]) => [name, count + (other[name] ?? 0)])) as T
