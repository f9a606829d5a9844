import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { InputTo } from '../api/areas/shapes.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import { commandOf, type OperationId, operation, operations } from '../api/operations/table.js'
import { parseExact, toJson } from '../api/values/json.js'
import type { Fields } from '../api/values/objects.js'
import { lineWriter } from '../csv/cells.js'
import { toCell } from '../runs/output/columns.js'
import type { CrmName } from '../runs/output/crm-names.js'

/** Which home, and which target of it. What is left out is as in a command that somebody types. */
export interface HomeOptions {
  /** The folder of settings and databases, as `PROSPECT_HOME` names it. */
  readonly home?: string
  /** Where relative paths of files begin; the current folder without it. */
  readonly folder?: string
  readonly profile?: string
  /** The engine of this machine, whatever the profile says. */
  readonly local?: boolean
  /** The environment of the commands; that of this process without it. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A file whose rows are looked up, or the rows themselves, by the names of their columns. */
type Input =
  | { readonly file: string; readonly sheet?: string; readonly rows?: undefined }
  | { readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly file?: undefined }

interface LookupChoices<Id extends OperationId> {
  /** Fields of the operation that are the same in every row, such as `{ enrichment_type: ['email'] }`. */
  readonly values?: Partial<InputTo<Id>>
  /** Which column fills a field, such as `{ domain: 'Website' }`; none does with an empty name. */
  readonly map?: Readonly<Record<string, string>>
  /** Only the first rows. */
  readonly first?: number
  /** Only so many rows, spread over the file. */
  readonly sample?: number
  /** Lists whose rows are left out: files, `catalogue`, `list:NAME`. */
  readonly skipKnown?: readonly string[]
  /** How old a stored answer may be that costs nothing, such as `90d`. */
  readonly maxAge?: string
  /** Pays for new answers. */
  readonly refresh?: boolean
  /** The most credits that the run may spend, however often it is resumed. */
  readonly maxCredits?: number
  readonly maxCreditsPerDay?: number
  /** The most that may be spent at data vendors of your own, in their credits. */
  readonly maxCost?: Readonly<Record<string, number>>
}

interface RunChoices {
  /** The file to write: .csv, .tsv, .json, .ndjson or .xlsx. Without it the rows are returned. */
  readonly output?: string
  readonly only?: readonly ('found' | 'valid' | 'new' | 'changed')[]
  readonly where?: string
  readonly columns?: readonly string[]
  readonly layout?: CrmName
  /** Starts a new run where the same one is on record. */
  readonly fresh?: boolean
  /** Stops the run as Ctrl-C does. It can be resumed. */
  readonly signal?: AbortSignal
}

export type QuoteOptions<Id extends OperationId> = Input & LookupChoices<Id>
export type EnrichOptions<Id extends OperationId> = Input & LookupChoices<Id> & RunChoices

/** What a file would cost. The others of its fields are those of `--dry-run`. */
export interface Quote extends Readonly<Record<string, unknown>> {
  readonly rows: number
  readonly unique: number
  readonly invalid: number
  readonly lookups: number
  readonly credits: Readonly<Record<'min' | 'expected' | 'max', number>>
  readonly balance: number | null
  readonly shortage: 'credits' | 'weekly_limit' | 'quota' | null
  /** Why it could not be run now, such as a balance that does not cover it. */
  readonly problem: Problem | null
}

/** A row of a result: the columns of the input, those of the result, and what became of it. */
export interface EnrichedRow extends Readonly<Record<string, unknown>> {
  readonly _status: 'found' | 'not_found' | 'invalid' | 'failed' | 'skipped' | 'known' | 'suppressed'
  readonly _error: string | null
  readonly _credits: number | null
  readonly _source: 'lookup' | 'duplicate' | 'reused' | null
}

/** Why something was refused or ended early, as commands report it. */
export interface Problem {
  readonly error: string
  readonly code: string | null
  readonly status: number | null
  readonly exit_code: number
  readonly hint: string
}

/** How a run, a flow or a comparison ended. */
export interface Report {
  /** Id of the run; null for what has none. */
  readonly run: string | null
  readonly status: 'finished' | 'stopped'
  /** 0, or 11 where rows are invalid or failed; otherwise why it stopped. */
  readonly exitCode: number
  /** Why it stopped; null where it finished. */
  readonly problem: Problem | null
  /** How many rows were found, invalid and so on, and what they cost. */
  readonly counts: Readonly<Record<string, unknown>>
  /** What a person should know. */
  readonly notices: readonly string[]
}

export interface EnrichReport extends Report {
  /** The rows, where no output was named. */
  readonly rows: readonly EnrichedRow[]
}

export interface MatchOptions {
  readonly with: readonly string[]
  readonly take?: readonly string[]
  readonly kind?: 'companies' | 'people'
  readonly map?: Readonly<Record<string, string>>
  readonly output?: string
}

export interface MatchReport extends Report {
  readonly rows: readonly (Readonly<Record<string, unknown>> & {
    readonly _match: 'yes' | 'maybe' | 'no' | 'suppressed' | ''
  })[]
}

export interface FlowOptions {
  readonly maxCredits?: number
  readonly fresh?: boolean
  /** Refuses a flow that starts programs, or sends rows to addresses or a CRM. */
  readonly noOutward?: boolean
  readonly signal?: AbortSignal
}

interface SuppressedEntry extends Readonly<Record<'kind' | 'value', string>> {
  readonly reason?: string | null
  readonly added_at?: string
}

type Listed = readonly Readonly<Record<string, unknown>>[]

/** A refusal of what was asked: nothing was begun. */
export class ProspectError extends Error {
  override readonly name = 'ProspectError'
  readonly code: string | null
  readonly status: number | null
  readonly exitCode: number
  readonly hint: string

  constructor({ error, code, status, exit_code, hint }: Problem) {
    super(error)
    this.code = code
    this.status = status
    this.exitCode = exit_code
    this.hint = hint
  }
}

/** The home of commands, for programs: what they do to files, with the same runs, budgets, suppression and vendors. */
export interface Home {
  /** What looking up every row would cost. Free: nothing is sent. */
  quote<Id extends OperationId>(id: Id, options: QuoteOptions<Id>): Promise<Quote>
  /** Looks up every row. The same call resumes a run that stopped, and no row is paid for twice. */
  enrich<Id extends OperationId>(id: Id, options: EnrichOptions<Id>): Promise<EnrichReport>
  /** Which rows of a list are in others. Free. */
  match(input: string | Listed, options: MatchOptions): Promise<MatchReport>
  readonly suppress: {
    add(values: readonly string[], reason?: string): Promise<{ readonly added: number }>
    importFile(file: string): Promise<{ readonly rows: number; readonly added: number }>
    remove(value: string): Promise<void>
    list(): Promise<readonly SuppressedEntry[]>
    check(value: string): Promise<boolean>
  }
  readonly flows: {
    check(file: string): Promise<void>
    quote(file: string): Promise<Fields>
    run(file: string, options?: FlowOptions): Promise<Report>
    list(): Promise<Listed>
    show(id: string): Promise<Fields>
  }
  readonly providers: {
    list(): Promise<Listed>
    /** `networks` are those that its address may be in besides public ones. */
    add(file: string, key: string, networks?: readonly string[]): Promise<Fields>
    order(kind: string, names: readonly string[]): Promise<Fields>
    remove(name: string): Promise<void>
    stats(): Promise<Listed>
  }
  readonly runs: {
    list(): Promise<Listed>
    show(id: string): Promise<Fields>
    resume(
      id: string,
      options?: { readonly maxCredits?: number; readonly output?: string },
    ): Promise<EnrichReport>
  }
  /** Where the values of a row came from, who was asked, and what that cost. Rows count from 1. */
  explain(
    file: string,
    row: number,
    options?: { readonly column?: string; readonly run?: string },
  ): Promise<Fields>
  /** What was spent. */
  ledger(options?: {
    readonly by?: readonly string[]
    readonly since?: string
    readonly until?: string
  }): Promise<Listed>
}

const toFlag = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Returns options as a command line has them. Their values are part of the same word, so that none can be an option. */
const flagsOf = (given: Fields): string[] =>
  Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    if (value === true) return [toFlag(name)]
    return [value].flat().map((one) => `${toFlag(name)}=${String(one)}`)
  })

const pairsOf = (map: Readonly<Record<string, unknown>> = {}): string[] =>
  Object.entries(map).map(([name, value]) => `${name}=${String(value)}`)

/** Returns rows as CSV, with a column for each name that any of them has. */
function toCsv(rows: Listed): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const write = lineWriter(',', true)
  return [names, ...rows.map((row) => names.map((name) => toCell(row[name])))].map(write).join('')
}

/** The operations that rows can be looked up by. */
const rowOperations = () => operations().filter(({ batch }) => batch && batch.into === undefined)

function wordsOf(id: OperationId): readonly string[] {
  if (rowOperations().some((row) => row.id === id)) return commandOf(operation(id).id).split(' ')
  const known = rowOperations().map((row) => row.id)
  throw new TypeError(`${id} does not look up the rows of a file. These do: ${known.join(', ')}.`)
}

interface Ended {
  readonly exit: number
  readonly result: unknown
  readonly problem: Problem | undefined
  readonly counts: Fields | undefined
  readonly id: string | undefined
  readonly notices: readonly string[]
  /** What was written to stdout. */
  readonly text: string
}

/** Opens the home of commands for a program. Each call opens what it needs and closes it again. */
export function openHome(options: HomeOptions = {}): Home {
  const { home, folder = process.cwd(), env = process.env } = options
  const target = flagsOf({ profile: options.profile, local: options.local })
  const streams = { env: home === undefined ? env : { ...env, PROSPECT_HOME: home }, cwd: folder }
  const run = async (words: readonly string[], stdin = '', signal?: AbortSignal): Promise<Ended> => {
    const [{ main }, { workInProcess }, { runWork }] = await Promise.all([
      import('../cli/program/main.js'),
      import('../cli/context/in-process.js'),
      import('../mcp/session.js'),
    ])
    const chunks: Buffer[] = []
    const stdout = new Writable({
      write: (chunk, _, done) => {
        chunks.push(Buffer.from(chunk))
        done()
      },
    })
    const end = words.includes('--') ? words.indexOf('--') : words.length
    const argv = words.toSpliced(end, 0, ...target, '--no-input')
    const started = runWork(workInProcess(streams, stdin, (own, taking) => main(argv, own, taking), stdout))
    const stop = () => started.stop()
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const { exit, result, problem, counts } = await started.ended
      const text = Buffer.concat(chunks).toString('utf8')
      return { exit, result, problem, counts, id: await started.id, notices: started.notices, text }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
  const refusalOf = ({ exit, problem }: Ended): ProspectError =>
    new ProspectError(
      problem ?? { error: 'The command failed.', code: null, status: null, exit_code: exit, hint: '' },
    )
  const read = async (words: readonly string[], stdin?: string): Promise<unknown> => {
    const ended = await run(words, stdin)
    if (ended.exit !== exitCodes.ok) throw refusalOf(ended)
    return ended.result ?? {}
  }
  const reportOf = (ended: Ended): Report => {
    const { exit, problem = null, counts, id = null, notices } = ended
    if (!counts) throw refusalOf(ended)
    const isFinished = exit === exitCodes.ok || exit === exitCodes.someFailed
    const status = isFinished ? 'finished' : 'stopped'
    return { run: id, status, exitCode: exit, problem: isFinished ? null : problem, counts, notices }
  }
  const rowsIn = (text: string) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => parseExact(line))
  /** Runs work with the fields that are the same in every row in a file, since stdin may have the rows. */
  const withValues = async <T>(values: Fields | undefined, work: (args: readonly string[]) => Promise<T>) => {
    if (values === undefined) return work([])
    const temporary = await mkdtemp(join(tmpdir(), 'prospect-'))
    try {
      const path = join(temporary, 'values.json')
      await writeFile(path, toJson(values), { mode: 0o600 })
      return await work([`--input=${path}`])
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  }
  const lookUp = <Id extends OperationId>(
    id: Id,
    {
      file,
      rows,
      values,
      map,
      first,
      skipKnown,
      maxCost,
      ...rest
    }: EnrichOptions<Id> & { readonly sheet?: string },
    more: readonly string[],
  ): Promise<Ended> => {
    const { signal, output, only, where, columns, layout, fresh, ...own } = rest
    const words = [
      ...wordsOf(id),
      `--csv=${file ?? '-'}`,
      ...flagsOf({ ...own, map: pairsOf(map), rows: first, skipKnown, maxCost: pairsOf(maxCost) }),
      ...flagsOf({ output, only: only?.join(','), where, columns: columns?.join(','), layout, fresh }),
      ...more,
    ]
    const stdin = rows === undefined ? '' : toCsv(rows)
    return withValues(values as Fields | undefined, (input) => run([...words, ...input], stdin, signal))
  }
  const enriched = (ended: Ended): EnrichReport => ({
    ...reportOf(ended),
    rows: rowsIn(ended.text) as readonly EnrichedRow[],
  })
  return {
    quote: async (id, given) => {
      const ended = await lookUp(id, given, ['--dry-run'])
      const quote = ended.result as Quote | undefined
      if (quote?.lookups === undefined) throw refusalOf(ended)
      return { ...quote, problem: ended.problem ?? null }
    },
    enrich: async (id, given) => {
      const { output } = given
      return enriched(
        await lookUp(id, given, output === undefined ? ['--yes', '--format=ndjson'] : ['--yes']),
      )
    },
    match: async (input, { with: others, take, kind, map, output }) => {
      const [file, stdin] = typeof input === 'string' ? [input, ''] : ['-', toCsv(input)]
      const format = output === undefined ? ['--format=ndjson'] : [`--output=${output}`]
      const args = flagsOf({ with: others, take, kind, map: pairsOf(map) })
      const ended = await run(['match', ...args, ...format, '--', file], stdin)
      return { ...reportOf(ended), rows: rowsIn(ended.text) as MatchReport['rows'] }
    },
    suppress: {
      add: async (values, reason) =>
        (await read(['suppress', 'add', ...flagsOf({ reason }), '--', ...values])) as { added: number },
      importFile: async (file) => {
        const ended = await run(['suppress', 'import', '--', file])
        if (ended.exit !== exitCodes.ok && ended.exit !== exitCodes.someFailed) throw refusalOf(ended)
        return ended.result as { rows: number; added: number }
      },
      remove: async (value) => void (await read(['suppress', 'remove', '--', value])),
      list: async () => (await read(['suppress', 'list'])) as readonly SuppressedEntry[],
      check: async (value) => {
        const ended = await run(['suppress', 'check', '--', value])
        if (ended.exit === exitCodes.checkFailed) return true
        if (ended.exit !== exitCodes.ok) throw refusalOf(ended)
        return false
      },
    },
    flows: {
      check: async (file) => void (await read(['flow', 'check', '--', file])),
      quote: async (file) => (await read(['flow', 'quote', '--', file])) as Fields,
      run: async (file, { signal, ...choices } = {}) =>
        reportOf(await run(['flow', 'run', ...flagsOf(choices), '--yes', '--', file], '', signal)),
      list: async () => (await read(['flow', 'list'])) as Listed,
      show: async (id) => (await read(['flow', 'show', '--', id])) as Fields,
    },
    providers: {
      list: async () => (await read(['providers', 'list'])) as Listed,
      add: async (file, key, networks) => {
        const args = flagsOf({ keyStdin: true, allowTarget: networks })
        return (await read(['providers', 'add', ...args, '--', file], key)) as Fields
      },
      order: async (kind, names) =>
        (await read(['providers', 'order', '--', kind, names.join(',')])) as Fields,
      remove: async (name) => void (await read(['providers', 'remove', '--yes', '--', name])),
      stats: async () => (await read(['providers', 'stats'])) as Listed,
    },
    runs: {
      list: async () => (await read(['runs', 'list'])) as Listed,
      show: async (id) => (await read(['runs', 'show', '--', id])) as Fields,
      resume: async (id, { maxCredits, output } = {}) => {
        const args = flagsOf({ maxCredits, output })
        return enriched(await run(['runs', 'resume', ...args, '--yes', '--', id]))
      },
    },
    explain: async (file, row, choices = {}) =>
      (await read(['explain', ...flagsOf({ row, ...choices }), '--', file])) as Fields,
    ledger: async ({ by, ...times } = {}) =>
      (await read(['ledger', ...flagsOf({ by: by?.join(','), ...times })])) as Listed,
  }
}
