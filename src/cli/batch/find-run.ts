import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { toJson } from '../../api/values/json.js'
import type { Mapping } from '../../batch/input/mapping.js'
import type { Table } from '../../batch/input/table.js'
import { CsvError } from '../../csv/errors.js'
import type { Run, RunIdentity, Runs } from '../../storage/state/runs/runs.js'
import { UsageError } from '../context/errors.js'
import { grouped } from '../output/terminal.js'
import { targetNames } from '../target/target-name.js'
import { type InputFile, openInput } from './files.js'
import type { Job } from './job.js'

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
  const { choices, run, place = '' } = job
  await runs.adopt(identity)
  if (run) return sameRun(job, run, identity, runs)
  if (choices.fresh) return undefined
  const known = await runs.known(identity)
  if (known) return known
  const other = await runs.inTheWay(identity)
  if (!other) return undefined
  const where = `${other.id}${place}`
  const goOn =
    place === ''
      ? 'Put the file back to go on'
      : `To go on with the file that it read: prospect runs resume ${where} --csv FILE`
  throw new UsageError(
    `${identity.file} has changed since run ${other.id} read it${place === '' ? '' : ', maybe on another machine'}, which has ` +
      `${grouped(other.done)} of ${grouped(other.total)} rows and is not finished.`,
    `${goOn}; to give that run up, add --fresh, or: prospect runs forget ${where}`,
  )
}

/** Opens the input of a job; what a run on record read may be somewhere else by now. */
export async function inputOf({ shell, choices, run }: Job): Promise<InputFile> {
  try {
    return await openInput(shell.context, choices)
  } catch (error) {
    if (choices.file !== run?.file || existsSync(run.file) || !(error instanceof CsvError)) throw error
    throw new UsageError(
      `${error.message} Run ${run.id} read it there, maybe on another machine.`,
      'Say where the same file is now, with --csv FILE; --csv - reads it from stdin.',
    )
  }
}

/** The record of a run as it is now, if it is still the same run. */
async function sameRun({ choices, place }: Job, run: Run, identity: RunIdentity, runs: Runs): Promise<Run> {
  const [now] = await runs.find(run.id)
  if (now && identity.knownBy === now.knownBy) return now
  if (identity.target !== run.target)
    throw new UsageError(
      `Run ${run.id} is for another target: ${run.target}.`,
      'Choose that target with --profile, --base-url or --local.',
    )
  if (choices.file !== run.file && identity.fileHash !== run.fileHash)
    throw new UsageError(
      `${choices.file === '-' ? 'What came through the pipe' : identity.file} has other content than ${run.file}, as run ${run.id} read it.`,
      'Give the same file with --csv, or start a new run with this one.',
    )
  throw new UsageError(
    `${run.file} is not what run ${run.id} read: it has changed${place ? ', or this machine has another file there' : ''}.`,
    'Put the file back, name the same one with --csv FILE, or start a new run with it.',
  )
}
