import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { toJson } from '../api/exact-json.js'
import type { Mapping } from '../batch/mapping.js'
import type { Table } from '../batch/read.js'
import type { Run, RunIdentity, Runs } from '../storage/runs.js'
import type { Job } from './batch-job.js'
import { UsageError } from './exit.js'
import { targetNames } from './target-name.js'
import { grouped } from './terminal.js'

/** What makes a batch the same run when it is started again. */
export async function runIdentityOf(job: Job, table: Table, mapping: Mapping): Promise<RunIdentity> {
  const { shell, operation, constants, choices, globals } = job
  const { name: target, engine, formerly } = await targetNames(shell.context, globals)
  const fileHash = await hashOf(table.path)
  const columns = mapping.columns.map(({ field, at }) => [field, at])
  const fields = Object.entries(constants).sort(([one], [other]) => (one < other ? -1 : 1))
  const reading = [choices.encoding, choices.delimiter, choices.raw]
  const all = [operation.id, fileHash, columns, fields, reading]
  // Which rows are looked up is part of what was asked for.
  if (choices.onlyMissing !== undefined) all.push(choices.onlyMissing)
  const knownBy = (name: string) =>
    createHash('sha256')
      .update(toJson([name, ...all]))
      .digest('hex')
      .slice(0, 32)
  return {
    ...{ knownBy: knownBy(target), operation: operation.id, target, file: table.path, fileHash, engine },
    formerly: formerly.map((former) => ({ ...former, knownBy: knownBy(former.target) })),
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** A run that a batch goes on with. */
export interface Known extends Run {
  /** It is finished, and only its rows whose outcome is unknown are sent again. */
  readonly onlyUnknown?: boolean
}

/** The run that a batch goes on with, as `findRun`; a finished one, too, where `--retry-unknown` finds something to do. */
export async function findKnown(job: Job, identity: RunIdentity, runs: Runs): Promise<Known | undefined> {
  const known = await findRun(job, identity, runs)
  if (known?.status !== 'finished' || !job.choices.retryUnknown) return known
  return (await runs.hasUnknown(known)) ? { ...known, status: 'stopped', onlyUnknown: true } : known
}

/** The run that a batch goes on with, nothing where it is a new one; throws UsageError where another stands in its way. */
export async function findRun(job: Job, identity: RunIdentity, runs: Runs): Promise<Run | undefined> {
  const { choices, run } = job
  await runs.adopt(identity)
  if (run) return sameRun(run, identity, runs)
  if (choices.fresh) return undefined
  const known = await runs.known(identity)
  if (known) return known
  const other = await runs.inTheWay(identity)
  if (!other) return undefined
  throw new UsageError(
    `${identity.file} has changed since run ${other.id} read it, which has ${grouped(other.done)} of ` +
      `${grouped(other.total)} rows and is not finished.`,
    `Put the file back to go on; to give that run up, add --fresh, or: prospect runs forget ${other.id}`,
  )
}

/** The record of a run as it is now, if it is still the same run. */
async function sameRun(run: Run, identity: RunIdentity, runs: Runs): Promise<Run> {
  const [now] = await runs.find(run.id)
  if (now && identity.knownBy === now.knownBy) return now
  if (identity.target !== run.target)
    throw new UsageError(
      `Run ${run.id} is for another target: ${run.target}.`,
      'Choose that target with --profile, --base-url or --local.',
    )
  throw new UsageError(
    `${run.file} is not what run ${run.id} read: it has changed.`,
    'Put the file back, or start a new run with it.',
  )
}
