import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { parseExact, parseJson, toCanonicalJson } from '../../api/values/json.js'
import { hashNumber, hashOf } from '../../csv/identity-filter.js'
import type { Driver } from '../../storage/driver/connection.js'
import { identifiedOf, openTemporary } from './answers.js'
import type { RowAnswer } from './journal.js'
import { type Run, type RunIdentity, type Runs, sampleMark } from './runs.js'

/** How a row compares with the run that it is compared with. */
export type Novelty = 'new' | 'changed' | 'same'

/** The answers of an earlier run. */
export interface Baseline {
  compare(identity: string | undefined, answer: Pick<RowAnswer, 'status' | 'body'>): Novelty
  close(): void
}

type Since = { readonly run: string } | { readonly ms: number }

/**
 * Returns the last finished run of the same operation, target, input path and options of the request, or the one that `since`
 * says; `undefined` where there is none. Throws a Refusal for an id of no such run.
 */
export async function findBaseline(
  { constants }: { readonly constants: Input },
  { operation, target, file }: RunIdentity,
  runs: Runs,
  since: Since | undefined,
  now: number,
): Promise<Run | undefined> {
  const wanted = toCanonicalJson(constants)
  const isAlike = (run: Run) => {
    const { constants: theirs } = parseJson(run.request) as { readonly constants: Input }
    return run.operation === operation && run.target === target && toCanonicalJson(theirs) === wanted
  }
  if (since && 'run' in since) {
    const found = (await runs.find(since.run)).find(({ status }) => status === 'finished')
    if (found && isAlike(found)) return found
    throw new Refusal('run.no_baseline', { run: since.run })
  }
  const before = since ? now - since.ms : Number.POSITIVE_INFINITY
  const finished = await runs.list({ status: 'finished' })
  return finished.find(
    (run) =>
      run.file === file && run.startedAt <= before && !run.knownBy.includes(sampleMark) && isAlike(run),
  )
}

/** Reads the answers of a run into a temporary file; without a run, every row is new. */
export async function openBaseline(database: Driver, run: Run | undefined): Promise<Baseline> {
  const known = openTemporary(
    'CREATE TABLE known (identity INTEGER PRIMARY KEY, digest INTEGER) WITHOUT ROWID',
  )
  const insert = known.prepare('INSERT INTO known VALUES (?, ?) ON CONFLICT DO NOTHING')
  const select = known.prepare<[number], { digest: number }>('SELECT digest FROM known WHERE identity = ?')
  const hash = (text: string) => hashNumber(hashOf(text))
  const digest = (status: string, body: unknown) =>
    hash(`${status} ${body === undefined ? '' : toCanonicalJson(body)}`)
  for (let from: number | undefined = run && 0; run && from !== undefined; ) {
    const start: number = from
    const answers = await database.read((connection) => identifiedOf(connection, run.number, start))
    for (const { identity, status, body } of answers)
      insert.run(hash(identity), digest(status, body === null ? undefined : parseExact(body)))
    const last = answers.at(-1)
    from = last && last.ordinal + 1
  }
  return {
    compare(identity, { status, body }) {
      const found = identity === undefined ? undefined : select.get(hash(identity))
      if (found === undefined) return 'new'
      return found.digest === digest(status, body) ? 'same' : 'changed'
    },
    close: () => void known.close(),
  }
}
