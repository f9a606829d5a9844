import { resolve } from 'node:path'
import { shapeOf } from '../../../api/areas/shapes.js'
import { hiddenNote, type OperationId } from '../../../api/operations/table.js'
import { parseExact } from '../../../api/values/json.js'
import { type Fields, isObject } from '../../../api/values/objects.js'
import type { Run } from '../../../runs/journal/runs.js'
import { resultColumns, sourceNames, toCell } from '../../../runs/output/columns.js'
import { openRuns } from '../../../runs/records.js'
import { shownTarget } from '../../../runs/target-name.js'
import { UsageError } from '../../context/errors.js'
import { openWorkspaceOwner, suppressorFor } from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { isoTime, optionRows, runsLocationOf, sharedOptions, whole } from '../../options/values.js'
import { print } from '../../output/print.js'
import { countOf, oneLine } from '../../output/text.js'

const explainOptions = optionRows({
  row: ['<n>', 'the row of the input, counted from 1 after the header', whole],
  column: ['<name>', 'only this column of the results, such as email'],
  run: ['<id>', 'the run, where several read the file (an id or its beginning)'],
  ...sharedOptions,
})

export const explainCommand: CommandFactory = ({ command }) =>
  command('explain', 'Where the values of a row came from, what they cost, or why they are empty')
    .argument('<file>', 'the output or the input of a run')
    .withOptions(explainOptions)
    .reads('records')
    .run(async (context, { args: [file = ''], options }) => {
      const { row = 0, column } = options
      if (row < 1) throw new UsageError('--row is missing or 0.', 'Rows are counted from 1 after the header.')
      const { runs, now } = await openRuns(context, runsLocationOf(context, options))
      const path = resolve(context.streams.cwd, file)
      const run = chooseRun(await runs.ofFile(path), file, path, options.run)
      if (run.total > 0 && row > run.total)
        throw new UsageError(`--row ${row}: the run has ${countOf(run.total, 'row', 'rows')}.`)
      const found = await runs.lookupOf(run, row - 1)
      const stored = found?.body ? parseExact(found.body) : undefined
      const suppressor = await suppressorFor(await openWorkspaceOwner(context))
      const body = suppressor ? await suppressor.records(stored) : stored
      const given = found && (found.originAnsweredAt ?? found.answeredAt)
      const shown = {
        run: run.id,
        operation: run.operation,
        target: shownTarget(run.target),
        row,
        status: found?.state ?? 'none',
        source: found ? sourceNames[found.source] : null,
        from_run: found?.originRun ?? null,
        // Single lookups are in no run that a person knows.
        from_row: found?.originRun && found.originRow !== null ? found.originRow + 1 : null,
        credits: found?.cost ?? 0,
        credits_held: found?.held ?? 0,
        asked_at: found ? isoTime(found.originAskedAt ?? found.askedAt) : null,
        answered_at: given ? isoTime(given) : null,
        age_days: given ? Math.floor(Math.max(0, now() - given) / 86_400_000) : null,
        why_empty: body === stored ? whyEmpty(found) : hiddenNote,
        values: await valuesOf(run, body, column),
      }
      await print(context, shown, { layout: () => textOf(shown) })
    })

const notAsked =
  'It was not looked up: invalid, suppressed, known from a list, or not reached; see _status in the output.'

const emptyBecause: Readonly<Record<string, (error: string | null) => string>> = {
  not_found: (error) => error ?? 'Nothing was found.',
  invalid: (error) => error ?? 'The row is invalid.',
  failed: (error) => error ?? 'The lookup failed.',
  skipped: () => 'It was not looked up.',
  asked: () => 'It is being looked up, or was interrupted.',
  accepted: () => 'The target still works on it.',
  unknown: () =>
    'It may have been charged, and its answer was lost: resume with --retry-unknown to ask again.',
}

const whyEmpty = (found: { readonly state: string; readonly error: string | null } | undefined) =>
  found ? (emptyBecause[found.state]?.(found.error) ?? null) : notAsked

/** Returns the run that wrote a file, the newest one; else the only one that read it, or the one that is named. */
function chooseRun(found: readonly Run[], file: string, path: string, id: string | undefined): Run {
  const named = id === undefined ? found : found.filter((run) => run.id.startsWith(id))
  const [run, ...others] = named
  if (!run)
    throw new UsageError(
      `${file}: no run ${id === undefined ? '' : `${id} `}on record read or wrote this file.`,
      'prospect runs list shows the runs of this machine.',
    )
  // A later run has replaced what an earlier one wrote.
  if (others.length === 0 || (run.file !== path && id === undefined)) return run
  const ids = named.map((one) => `${one.id} (${one.operation})`)
  throw new UsageError(`${file}: several runs read this file.`, `Name one with --run: ${ids.join(', ')}.`)
}

/** Returns the results of a row by the names of their columns. Throws UsageError for a column that there is not. */
async function valuesOf(run: Run, body: unknown, column: string | undefined): Promise<Fields> {
  const columns = resultColumns((await shapeOf(run.operation as OperationId)).output)
  const wanted = columns.filter(({ name }) => column === undefined || name === column)
  if (wanted.length === 0)
    throw new UsageError(
      `--column ${column}: ${run.operation} has no such result.`,
      `It has ${columns.map(({ name }) => name).join(', ')}.`,
    )
  const at = (value: unknown, key: string): unknown => (isObject(value) ? value[key] : undefined)
  return Object.fromEntries(
    wanted.flatMap(({ name, path }) => {
      const value = path.map(String).reduce(at, body)
      return column === undefined && toCell(value) === '' ? [] : [[name, value ?? null]]
    }),
  )
}

interface Explained extends Fields {
  readonly values: Fields
}

function textOf({ values, ...facts }: Explained): string {
  const { run, operation, target, row, status, source, from_run, from_row, credits, credits_held } = facts
  const ofRow = from_row === null ? '' : `, the answer to row ${from_row} of run ${from_run}`
  const origin = source === 'reused' && from_row === null ? ', the answer to a lookup outside of runs' : ofRow
  const age = facts.age_days === null ? '' : `, ${countOf(Number(facts.age_days), 'day', 'days')} ago`
  const lines = [
    `Row ${row} of run ${run}: ${operation} at ${target}`,
    `Status: ${status}${source === null ? '' : ` (${source}${origin})`}`,
    `Cost: ${countOf(Number(credits), 'credit', 'credits')}${credits_held === 0 ? '' : `, ${credits_held} held`}`,
    ...(facts.asked_at === null ? [] : [`Asked: ${facts.asked_at}`]),
    ...(facts.answered_at === null ? [] : [`Answered: ${facts.answered_at}${age}`]),
    ...(facts.why_empty === null ? [] : [`Empty: ${facts.why_empty}`]),
    ...Object.entries(values).map(([name, value]) => {
      const text = toCell(value)
      return `${name}: ${text === '' ? 'empty' : oneLine(text)}${text === '' && facts.why_empty === null ? ' (the answer has no value for it)' : ''}`
    }),
  ]
  return `${lines.join('\n')}\n`
}
