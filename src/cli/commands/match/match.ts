import { resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { toPrintableJson } from '../../../api/values/json.js'
import type { Suppressor } from '../../../catalogue/suppression/suppressor.js'
import { FooterCounter, footerNote } from '../../../csv/footer.js'
import type { CsvRow } from '../../../csv/parse.js'
import type { Match } from '../../../lists/list-index.js'
import { rowInput } from '../../../runs/input/mapping.js'
import { checkPairs, mapList, openListFile, openLists, openMatcher, pairsFor } from '../../../runs/lists.js'
import { type Layout, rowFormats } from '../../../runs/output/formats.js'
import { createWriter, type Sink, streamSink } from '../../../runs/output/writer.js'
import type { KnownList } from '../../../runs/ports.js'
import { showMapping } from '../../batch/map-columns.js'
import { isOnScreen, rowFormat } from '../../batch/options.js'
import { capHeap } from '../../batch/run.js'
import { listPorts } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import { exitOfSignal, interruptible, styledStream } from '../../context/io.js'
import { describe } from '../../messages.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { type OptionsOf, optionRows, repeated } from '../../options/values.js'
import { fileOf, openFile, pathOf } from '../../output/output.js'
import { startProgress } from '../../output/progress.js'
import { tableFormat } from '../../output/table.js'
import { countRows, duration, formatNumber, formatPath, lookOn, oneLine } from '../../output/text.js'

export const matchCommand: CommandFactory = ({ command }) =>
  command('match', 'Which rows of a list are in another one, such as your CRM')
    .argument('<file>', 'the list: CSV or .xlsx, or - for stdin')
    .requiredOption(
      '--with <file>',
      'the other list; also catalogue, list:NAME, crm:NAME (repeatable)',
      repeated,
    )
    .withOptions(matchOptions)
    .run(match)

const matchOptions = optionRows({
  take: ['<column>', 'copy this column of the other list (repeatable, or a,b)', repeated],
  kind: ['<kind>', 'what the rows are (default: recognised)', ['companies', 'people']],
  map: ['<field=Column>', 'which column fills a field (repeatable)', repeated],
  sheet: ['<name>', 'the sheet of a workbook (default: its first one)'],
  summaryJson: ['<file>', 'write the counts to this file, as JSON'],
  failOn: ['<when>', 'exit code 11 when rows were not compared (any) or never (none)', ['any', 'none']],
})

type Given = OptionsOf<typeof matchOptions> & { readonly with?: readonly string[] }

async function match(context: Context, { args: [file = ''], options: given }: Invocation<Given>) {
  const { with: sources = [], map = [] } = given
  if ([file, ...sources].filter((one) => one === '-').length > 1) throw new Refusal('usage.one_list_of_stdin')
  const take = (given.take ?? []).flatMap((names) => names.split(',')).map((name) => name.trim())
  if (take.includes('')) throw new Refusal('usage.take_empty')
  const summaryJson = pathOf('--summary-json', given.summaryJson, context.streams)
  const format = rowFormat(context)
  const isShown = isOnScreen(context)
  const startedAt = context.clock.now()
  const ports = listPorts(context)
  const table = await openListFile(ports, file, 'FILE', given.sheet)
  const { kind, mapping } = mapList(table, file, given.kind, pairsFor(map, table.header))
  const opened = await openLists(ports, sources, kind, '--with', map)
  checkPairs(map, [table.header, ...opened.map(({ header }) => header)])
  showMapping(context, file, { kind, mapping })
  for (const { name, mapping: own } of opened) if (own) showMapping(context, name, { kind, mapping: own })
  const uncap = capHeap()
  const progress = await startProgress(context, ({ rows }) => `${countRows(rows)} compared`)
  const onRows = (rows: number) => progress.update({ rows })
  const toFields = rowInput(mapping)
  const tally = createTally()
  const footer = new FooterCounter()
  const { output, listed } = await interruptible(context.streams, async (signal) => {
    const checkSignal = () => {
      const exit = exitOfSignal(signal)
      if (exit !== undefined) throw new Stop('The comparison was interrupted.', exit)
    }
    const path = fileOf(context.globals)
    const target = path === undefined ? undefined : resolve(context.streams.cwd, path)
    const suppressor = await context.suppressor()
    const isSuppressed = new Set<string>()
    const lists = opened.map((list) =>
      suppressor ? withoutSuppressedCells(list, suppressor, isSuppressed) : list,
    )
    const known = await openMatcher(ports, kind, lists, take, (rows) => {
      checkSignal()
      onRows(rows)
    })
    for (const { name, rows } of known.counts)
      if (opened.some((one) => one.name === name && !one.mapping))
        context.notify(oneLine(`${name}: ${countRows(rows)}`))
    const layout = createMatchLayout(table.header, take)
    const sink: Sink =
      target === undefined
        ? streamSink(isShown ? styledStream(context.streams.stdout) : context.streams.stdout)
        : await openFile(context, target, '-o', signal)
    const compared = new Set(mapping.columns.map(({ at }) => at))
    const shown = layout.header.filter((_, at) => at >= table.header.length || compared.has(at))
    const names = ['_match', ...shown, ...matchColumns]
    const whole = isShown
      ? tableFormat(layout, [...new Set(names)], lookOn(context, context.streams.stdout), context.notify)
      : rowFormats[format].create(layout)
    const writer = createWriter(sink, whole)
    try {
      for await (const batch of table.rows()) {
        checkSignal()
        const isRagged = ({ cells }: CsvRow) => cells.length !== table.header.length
        // A line of a footer is about nobody.
        const fieldsOf = (row: CsvRow) =>
          footer.add(row) ? {} : isRagged(row) ? undefined : toFields(row.cells)
        const fields = batch.map(fieldsOf)
        const suppressed = await suppressor?.areAbout(fields)
        const rows = batch.map((row, at) => {
          const match = fields[at] && known.find(fields[at])
          const isHidden =
            match?.verdict === 'yes' && isSuppressed.has(placeOf(match.list, match.lines[0] ?? null))
          const found = suppressed?.[at] || isHidden ? suppressedMatch : match
          tally.add(row, found)
          return { ...row, found }
        })
        await writer.write(rows)
        onRows(tally.rows)
      }
      await writer.finish()
    } catch (error) {
      await writer.abandon()
      throw error
    }
    return { output: target ?? null, listed: known.counts }
  }).finally(() => {
    progress.stop()
    uncap()
  })
  const seconds = (context.clock.now() - startedAt) / 1_000
  const exit = tally.ragged > 0 && given.failOn !== 'none' ? exitCodes.someFailed : exitCodes.ok
  for (const line of describeTally(tally, seconds)) context.notify(line)
  if (footer.found) context.notify(describe(footerNote(footer.found)))
  if (output !== null) context.notify(`Written to ${formatPath(output, context.streams)}`)
  const { rows, yes, maybe, no, suppressed, by, maybeBy, ragged } = tally
  const counts = { kind, rows, yes, maybe, no, suppressed, by, maybe_by: maybeBy, not_compared: ragged }
  context.log?.write('result', counts)
  if (summaryJson !== undefined) {
    const summary = {
      status: 'finished',
      exit_code: exit,
      ...counts,
      with: listed,
      files: { input: file === '-' ? file : table.path, output },
      started_at: new Date(startedAt).toISOString(),
      seconds,
    }
    const sink = await openFile(context, summaryJson, '--summary-json')
    await sink.write(`${toPrintableJson(summary, 2)}\n`)
    await sink.finish()
  }
  return exit
}

const placeOf = (list: string, line: number | null): string => `${line} ${list}`

/** Returns a list of which no cell is copied from rows about whom is suppressed. The places of these are added to `found`. */
const withoutSuppressedCells = (
  list: KnownList,
  { areAbout }: Suppressor,
  found: Set<string>,
): KnownList => ({
  ...list,
  async *rows() {
    for await (const batch of list.rows()) {
      const suppressed = await areAbout(batch.map(({ fields }) => fields))
      // Records of the catalogue have no line that would tell them apart.
      for (const [at, { line }] of batch.entries())
        if (suppressed[at] && line !== null) found.add(placeOf(list.name, line))
      yield batch.map((row, at) => (suppressed[at] ? { ...row, cell: () => '' } : row))
    }
  },
})

/** What a row about somebody suppressed says in place of a match. */
const suppressedMatch = { verdict: 'suppressed', by: '', list: '', lines: [], taken: [] } as const

type RowMatch = Match | typeof suppressedMatch

const matchColumns = ['_match', '_match_by', '_match_file', '_match_line'] as const

/** A row, and its match; `undefined` where it was not compared. */
type MatchedRow = CsvRow & { readonly found: RowMatch | undefined }

/** The columns of the list, then what was found; columns of an earlier comparison are overwritten. */
function createMatchLayout(header: readonly string[], take: readonly string[]): Layout<MatchedRow> {
  const own = new Set<string>([...header, ...matchColumns])
  const taken = take.map((name) => {
    const free = own.has(name) ? `match.${name}` : name
    own.add(free)
    return free
  })
  const names = [...header, ...[...matchColumns, ...taken].filter((name) => !header.includes(name))]
  const places = [...matchColumns, ...taken].map((name) => names.indexOf(name))
  const values = (found: RowMatch | undefined): readonly (string | number | null)[] => {
    if (found === undefined) return []
    const { verdict, by, list, lines, taken: cells } = found
    const line = lines.length > 1 ? lines.join('; ') : (lines[0] ?? null)
    return [verdict, by, list, line, ...take.map((_, at) => cells[at] ?? '')]
  }
  return {
    header: names,
    cells: ({ cells, found }) => {
      const written = header.map((_, at) => cells[at] ?? '')
      const added = values(found)
      for (const [at, place] of places.entries()) written[place] = String(added[at] ?? '')
      return written
    },
    record: ({ cells, found }) => {
      const added = values(found)
      return Object.fromEntries([
        ...header.map((name, at) => [name, cells[at] ?? '']),
        ...places.map((place, at) => [names[place], added[at] === '' ? null : (added[at] ?? null)]),
      ])
    },
  }
}

function createTally() {
  const tally = {
    rows: 0,
    yes: 0,
    maybe: 0,
    no: 0,
    suppressed: 0,
    ragged: 0,
    firstRagged: 0,
    by: {} as Record<string, number>,
    maybeBy: {} as Record<string, number>,
    add(row: CsvRow, found: RowMatch | undefined) {
      tally.rows++
      if (found === undefined) {
        if (tally.ragged++ === 0) tally.firstRagged = row.line
        return
      }
      const { verdict, by } = found
      tally[verdict]++
      const counts = verdict === 'yes' ? tally.by : tally.maybeBy
      if (verdict === 'yes' || verdict === 'maybe') counts[by] = (counts[by] ?? 0) + 1
    },
  }
  return tally
}

const words: Readonly<Record<string, string>> = { network_id: 'network id', profile: 'profile URL' }

function describeTally(tally: ReturnType<typeof createTally>, seconds: number): string[] {
  const { rows, yes, maybe, no, suppressed, by, maybeBy, ragged, firstRagged } = tally
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([key, count]) => `${formatNumber(count)} by ${words[key] ?? key}`)
      .join(', ')
  const out = suppressed > 0 ? ` · ${formatNumber(suppressed)} suppressed` : ''
  const counted = `${formatNumber(yes)} yes · ${formatNumber(maybe)} maybe · ${formatNumber(no)} no${out}`
  const lines = [
    `${countRows(rows)} in ${seconds < 1 ? 'less than a second' : duration(seconds)}: ${counted}`,
  ]
  if (yes > 0) lines.push(`Yes: ${list(by)}`)
  if (maybe > 0) lines.push(`Maybe: ${list(maybeBy)}`)
  const strange = 'more cells than the header'
  if (ragged === 1) lines.push(`The row on line ${firstRagged} has ${strange}, and was not compared.`)
  if (ragged > 1)
    lines.push(
      `${formatNumber(ragged)} rows have ${strange}, and were not compared; the first is on line ${firstRagged}.`,
    )
  return lines
}
