import { existsSync } from 'node:fs'
import * as z from 'zod'
import { shapeOf } from '../api/areas/shapes.js'
import { Refusal, type Report } from '../api/calls/errors.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import { isPriced } from '../api/operations/facts.js'
import { type Operation, type OperationId, operation, operations } from '../api/operations/table.js'
import type { CommandLog, WorkStep } from '../api/ports/ports.js'
import { parseTexts } from '../api/validation/coerce.js'
import { findUnknown, unwrap } from '../api/validation/validate.js'
import { type Fields, once, withoutUndefined } from '../api/values/objects.js'
import { crmNames } from '../runs/output/crm-names.js'
import { knownExtensions } from '../runs/output/formats.js'
import { resultOf, type Session, type ToolCall, type Work, waitFor } from './session.js'
import { isNotFound, refuseUnknown, schemaOf, searchOf, type Tool, toolName } from './tools.js'

/** The operations that files can be given to, row by row, by the names of their tools. */
const batches = new Map(
  operations().flatMap((row) => (row.batch && row.batch.into === undefined ? [[toolName(row.id), row]] : [])),
)

const text = (description: string) => z.string().min(1).describe(description)
const pairs = z
  .record(z.string(), z.string())
  .optional()
  .describe(
    'Which column fills a field, such as {"domain": "Website"}, where it is not recognised; {"domain": ""} has none fill it',
  )
const runId = z
  .string()
  .regex(/^[0-9a-f][0-9a-f-]*$/, 'give the id that run_file, flow_run or a search has answered')
  .describe('Id of the run or search, or its beginning')
const maxCredits = z
  .int()
  .min(0)
  .optional()
  .describe('Most credits to spend; all that this server has left without it')
const wait = z
  .number()
  .min(0)
  .max(3_600)
  .optional()
  .describe('Seconds to wait for the end, with progress; without it, answers at once')

const batchFields = {
  operation: z
    .enum([...batches.keys()], {
      error: `it is no lookup for the rows of a file. There are: ${[...batches.keys()].join(', ')}`,
    })
    .describe(
      'The lookup for each row. contacts_enrich finds email addresses and phones: values has to have enrichment_type. leads_search finds people at each company: values takes limit, and has to have job_titles, functions or seniority_levels',
    ),
  file: text('A CSV or .xlsx file in the folder of this server'),
  values: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'Fields of the operation that are the same in every row, such as {"enrichment_type": ["email"]} or {"seniority_levels": ["CXO"], "limit": 2}',
    ),
  map: pairs,
  sheet: text('The sheet of a workbook; its first one without it').optional(),
  rows: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Only the first rows, also counting those that are not looked up; a later call without it looks up the others',
    ),
  sample: z.int().min(1).optional().describe('Only so many rows, spread over the file'),
  skip_known: z
    .array(z.string().min(1))
    .optional()
    .describe('Lists whose rows are left out, and counted as known: files, catalogue, list:NAME'),
  only_missing: text(
    'Only rows where this is blank, which an invalid address is not: a field of the answer, or field=column, such as email=lead.most_probable_email, which the run fills',
  ).optional(),
  max_age: text('How old a stored answer may be that costs nothing, such as 90d')
    .regex(/^(?:0|(?:\d+(?:\.\d+)?[smhd])+)$/, 'it is no duration like 15m, 2h or 90d')
    .optional(),
}

type BatchInput = z.output<z.ZodObject<typeof batchFields>>

const areas: Readonly<Record<string, string>> = { ledger: 'ledger', flow: 'flows', suppress: 'suppress' }

/** Returns the tool of some rows; its arguments are checked by its schema. */
function fileTool<Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  fields: Shape,
  annotations: Tool['annotations'],
  run: (session: Session, input: z.output<z.ZodObject<Shape>>, call: ToolCall) => Promise<Fields>,
): Tool {
  const schema = z.strictObject(fields)
  return {
    name,
    description,
    annotations,
    area: areas[name.split('_')[0] ?? ''] ?? 'files',
    commands: [name.replace('_', ' ')],
    inputSchema: once(() => schemaOf(schema)),
    run: async (session, input, call) => {
      const read = parseTexts(schema, input) as Fields
      // As runs and the ledger have it.
      const named = typeof read.operation === 'string' ? { operation: read.operation.replace('.', '_') } : {}
      const { data, error } = schema.safeParse({ ...read, ...named })
      if (data) return run(session, data as z.output<z.ZodObject<Shape>>, call)
      const issue = error?.issues[0]
      throw new Refusal('tools.invalid', { field: issue?.path.join('.'), reason: issue?.message })
    },
  }
}

const reads = { readOnlyHint: true, openWorldHint: false }
const writes = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

/** Returns the tools about files, runs and flows, and the ledger. Flows may start programs and use addresses where that is allowed. */
export const fileTools = (allowsCommands: boolean): readonly Tool[] => [
  fileTool(
    'quote_file',
    'What looking up every row of a file would cost, and which rows cannot be looked up, or have a cell that is not_understood. lookups are charged at most; rows that are invalid, in_store or known cost nothing. For one lookup, its tool says the price; a search costs no credits. server_budget is what this server may spend. Free: nothing is sent.',
    {
      ...batchFields,
      max_credits: maxCredits.describe(
        'The max_credits of the run: credits.max is at most so much; next says where it may not suffice',
      ),
    },
    reads,
    async (session, input) => {
      const { max_credits } = input
      const call = await rowsCall(session, input, { maxCredits: max_credits, dryRun: true })
      const moreCredits = Math.max(0, session.left)
      const ended = await session.start(session.port.call(call, { moreCredits })).ended
      // A quote that the balance does not cover is one, too.
      const quote = ended.result as Fields | undefined
      if (quote?.lookups === undefined) return resultOf(ended) as Fields
      const problem = ended.problem ?? session.shortOf((quote as unknown as FileQuote).credits.max)
      const next = nextOfQuote(quote, input)
      return withoutUndefined({ ...quote, server_budget: session.budget(), next, problem })
    },
  ),
  fileTool(
    'run_file',
    'Looks up every row of a file and writes the results to another file. Answers at once with the id of the run; run_status tells how far it is. At its end, counts.without_result says which rows have none, and why. A stopped run can be resumed, and no row is paid for twice. Ask quote_file first.',
    {
      ...batchFields,
      output: text(`The file to write, in the folder of this server: ${knownExtensions}`),
      max_credits: maxCredits.describe(
        'Most credits of the run, also of what it has spent before; all that this server has left without it. Where that ends a run, output has what there is, and run_file with a higher max_credits goes on',
      ),
      only: z
        .array(z.enum(['found', 'valid', 'new', 'changed']))
        .optional()
        .describe('Write only these rows'),
      where: text('Write only the rows of which this is true, such as headcount >= 50').optional(),
      layout: text(`Columns for the import of a CRM: ${crmNames.join(', ')}`).optional(),
      fresh: z.boolean().optional().describe('Start a new run where the same one is on record'),
      wait,
    },
    writes,
    async (session, input, call) => {
      const output = session.port.fileIn('output', input.output, 'write')
      const { max_credits: maxCredits, rows, only, where, layout, fresh } = input
      const isPaid = isPriced(batchOf(input.operation))
      const others = { only, where, fresh, ...(isPaid ? { maxCredits } : {}) }
      // Before anything is set aside, which a refusal would not give back.
      const asked = await rowsCall(session, input, others, { output, layout, yes: true })
      if (!isPaid) return startRun(session, { work: session.port.call(asked), held: 0 }, input.wait, call)
      // The first rows may have their answers already.
      const isAnswered = rows !== undefined && session.left <= 0
      const held = isAnswered ? 0 : session.holdForRun(maxCredits)
      const work = writingSoFar(session, session.port.call(asked, { moreCredits: held }), output)
      return startRun(session, { work, held, limit: maxCredits ?? Infinity }, input.wait, call)
    },
  ),
  fileTool(
    'run_status',
    'How far a run or other work is, or its result. With wait, it waits for the end and reports progress. With row, where the values of that row came from, who was asked in which order, what that cost and when, or why they are empty.',
    {
      run: runId,
      wait,
      row: z
        .int()
        .min(1)
        .optional()
        .describe('A row of the file, counted from 1 after the header; of a sample, a row of its output'),
      column: text('Only this column of the results of the row, such as email').optional(),
      page: z.int().min(1).optional().describe('Of a search with more records than one answer has'),
    },
    reads,
    async (session, { run, wait: seconds = 0, row, column, page }, call) => {
      if (column !== undefined && row === undefined) throw new Refusal('tools.no_argument', { name: 'row' })
      const work = session.work.get(run)
      if (work && page === undefined) return work(seconds, call)
      const view = await showRun(session, run).catch(async (error: unknown) => {
        const found = isNotFound(error) ? await searchOf(session, run, page) : undefined
        if (found !== undefined && row !== undefined) throw new Refusal('tools.rows_of_run', { id: run })
        if (found === undefined) throw error
        return found
      })
      if (!isRun(view)) return view
      const { id } = view
      if (row !== undefined) {
        // The rows of a sample are others in the file that it is of.
        const isSample = view.sample !== undefined && view.output !== null
        const file = session.port.fileIn('file', isSample ? (view.output ?? '') : view.file, 'read')
        return inToolWords((await session.read('explain', [file], { row, column, run: id })) as Fields)
      }
      const started = session.runs.get(id)
      if (started) await waitFor(session, started, seconds * 1_000, call.signal, call.onStep)
      return statusOf(session, id)
    },
  ),
  fileTool(
    'resume_run',
    'Resumes a run that stopped, with the rows that have no answer yet. Answers at once, like run_file.',
    {
      run: runId,
      max_credits: maxCredits,
      output: text('Another file to write').optional(),
      rows: batchFields.rows.describe('Only the first rows; as many as the run was asked for without it'),
      retry_unknown: z.boolean().optional().describe('Ask again for rows that may have been charged'),
      wait,
    },
    writes,
    async (
      session,
      { run, max_credits, output: given, rows, retry_unknown: retryUnknown, wait: seconds },
      call,
    ) => {
      const view = await findRun(session, run)
      if (view.operation === 'flow') {
        const path = session.port.fileIn('file', view.file, 'read')
        const held = session.holdForRun(max_credits ?? Math.max(0, session.left))
        return runFlow(session, path, { allowsCommands, held, wait: seconds }, call)
      }
      session.port.fileIn('file', view.file, 'read')
      const output = given ?? view.output
      if (output === null) throw new Refusal('tools.no_argument', { name: 'output' })
      const path = session.port.fileIn('output', output, 'write')
      const isPaid = isPriced(operation(view.operation as OperationId))
      const held = isPaid ? session.holdForRun(max_credits) : 0
      const before = view.credits + view.credits_reserved
      // In place of the budget that the run is recorded with.
      const most = isPaid ? { maxCredits: before + held } : {}
      const resuming = session.port.run({
        command: 'runs resume',
        args: [view.id],
        options: { rows, retryUnknown, ...most },
        globals: { output: path, yes: true },
      })
      const work = writingSoFar(session, resuming, path)
      const limit = before + (max_credits ?? Infinity)
      return startRun(session, { work, held, limit }, seconds, call)
    },
  ),
  fileTool(
    'stop_run',
    'Stops a run that this server has started. It can be resumed, here with resume_run or in a shell.',
    { run: runId },
    { ...writes, openWorldHint: false },
    async (session, { run }) => {
      const { id, status } = await findRun(session, run)
      const started = session.runs.get(id)
      started?.stop()
      await started?.ended
      if (!started && status === 'running') throw new Refusal('tools.run_elsewhere', { run: id })
      return statusOf(session, id)
    },
  ),
  fileTool(
    'match_file',
    'Which rows of a list are in other lists, such as a CRM export. Writes the list with the answers. Free: nothing is sent.',
    {
      file: batchFields.file,
      with: z.array(z.string().min(1)).min(1).describe('The other lists: files, catalogue, list:NAME'),
      output: text('The file to write, in the folder of this server'),
      take: z.array(z.string().min(1)).optional().describe('Columns of the other list to copy'),
      kind: z.enum(['companies', 'people']).optional().describe('What the rows are; recognised without it'),
      map: pairs,
    },
    { ...writes, openWorldHint: false },
    async (session, { file, with: others, output: given, take, kind, map }, { signal, onStep }) => {
      const output = session.port.fileIn('output', given, 'write')
      const matching = session.port.run({
        command: 'match',
        args: [session.port.fileIn('file', file, 'read')],
        options: { with: listsIn(session, 'with', others), take, kind, map: mapOf(map) },
        globals: { output },
      })
      const started = session.start(matching)
      signal.addEventListener('abort', () => started.stop())
      started.listeners.add(onStep)
      const ended = await started.ended
      if (ended.exit !== 11) resultOf(ended)
      return { ...ended.counts, output }
    },
  ),
  fileTool(
    'flow_quote',
    'What a flow is expected to take and to cost in each step. A flow is a file with a chain of lookups. server_budget is what this server may spend. Free.',
    { file: text('The file of the flow, in the folder of this server') },
    reads,
    async (session, { file }) => {
      const quote = (await session.read('flow quote', [session.port.fileIn('file', file, 'read')])) as Fields
      return { ...quote, server_budget: session.budget() }
    },
  ),
  fileTool(
    'flow_run',
    'Runs a flow, or resumes it where it was stopped; it writes the files that it names. Answers at once, like run_file; run_status takes its id, too.',
    {
      file: text('The file of the flow, in the folder of this server'),
      max_credits: maxCredits,
      fresh: z.boolean().optional().describe('Start a new run where the same one is on record'),
      wait,
    },
    writes,
    (session, { file, max_credits, ...given }, call) => {
      const path = session.port.fileIn('file', file, 'read')
      const held = session.holdForRun(max_credits ?? Math.max(0, session.left))
      return runFlow(session, path, { ...given, max_credits, held, allowsCommands }, call)
    },
  ),
  fileTool(
    'suppress_check',
    'Whether a person or company must never be looked up or written. Free.',
    {
      value: text('An email address, domain, profile URL, phone number, or "Jane Doe at acme.example"'),
    },
    reads,
    async (session, { value }) => {
      const ended = await session.start(session.port.run({ command: 'suppress check', args: [value] })).ended
      return (ended.exit === exitCodes.checkFailed ? ended.result : resultOf(ended)) as Fields
    },
  ),
  fileTool(
    'ledger',
    'What this machine has spent, by day, operation and run, with the total and the files of runs; a run that is null is that of single lookups. calls counts the lookups that a run has asked for, also those that cost nothing, and single ones that cost credits. Operations have a dot: accounts.enrich is what the tool accounts_enrich asks. suspect counts answers that may be those to other requests.',
    {
      by: z
        .array(z.enum(['day', 'profile', 'target', 'operation', 'run', 'member', 'provider']))
        .optional()
        .describe('Sum by these'),
      since: text('From then on (UTC): today, this-week, last-week, last-month, 7d, 2026-11-01').optional(),
      until: text(
        'Until the end of that day, week or month; last week alone is since and until last-week',
      ).optional(),
      run: runId.describe('Id of the run or flow, or its beginning').optional(),
      member: text('Only what this member spent').optional(),
      provider: text('Only what this data vendor of the user was asked').optional(),
    },
    reads,
    async (session, { by, ...given }) => {
      const spent = (await session.read('ledger', [], { by, ...given })) as Fields[]
      const sum = (name: 'calls' | 'credits') => spent.reduce((total, one) => total + Number(one[name]), 0)
      const total = { calls: sum('calls'), credits: sum('credits') }
      if (!spent.some(({ run }) => typeof run === 'string')) return { items: spent, total }
      const runs = await listRuns(session)
      const files = new Map(
        runs.map(({ id, file, output }) => [id, withoutUndefined({ file, output: output ?? undefined })]),
      )
      return { items: spent.map((one) => ({ ...one, ...files.get(String(one.run)) })), total }
    },
  ),
]

/** Returns what is said of a row, with the tool that does what an option of the commands does; a flow says it of each step. */
function inToolWords(shown: Fields): Fields {
  const { why_empty: why, steps } = shown
  const tool = 'call resume_run with retry_unknown, or have a person resume it with --retry-unknown,'
  return {
    ...shown,
    ...(typeof why === 'string' && { why_empty: why.replace('resume with --retry-unknown', tool) }),
    ...(Array.isArray(steps) && { steps: steps.map((step) => inToolWords(step as Fields)) }),
  }
}

type RunView = Readonly<Record<'id' | 'operation' | 'file' | 'status', string>> &
  Readonly<Record<'rows' | 'done' | 'credits' | 'credits_reserved', number>> & {
    readonly invalid: number | null
    readonly output: string | null
    readonly sample?: number
    /** How many of its first rows it was last asked for; absent where that was all of them. */
    readonly rows_asked?: number
  }

const mapOf = (map: Readonly<Record<string, string>> = {}): string[] =>
  Object.entries(map).map(([field, column]) => `${field}=${column}`)

/** Returns lists as options name them, with the paths of files. */
const listsIn = (session: Session, name: string, lists: readonly string[] = []): readonly string[] =>
  lists.map((list) =>
    list === 'catalogue' || list.startsWith('list:') ? list : session.port.fileIn(name, list, 'read'),
  )

function batchOf(name: string): Operation {
  const found = batches.get(name)
  if (!found) throw new Refusal('tools.no_argument', { name: 'operation' })
  return found
}

/** What is read of a quote. */
interface FileQuote
  extends Readonly<Record<'rows' | 'rows_affordable' | 'lookups' | 'done' | 'spent_before', number>> {
  readonly credits: { readonly max: number }
  readonly budget: number | null
  readonly least_needed: number | null
}

/**
 * Returns what a quote leaves to say: how far its budget goes where it may not suffice, what its run has spent before, and that
 * the first rows, which are `asked` for, are done.
 */
function nextOfQuote(quote: Fields, { rows: asked }: BatchInput): string | undefined {
  const { rows, rows_affordable: affordable, ...more } = quote as unknown as FileQuote
  const { credits, budget, least_needed: least, spent_before: spent } = more
  const isDone = rows === asked && more.done === rows
  const texts = [
    ...(least === null
      ? []
      : [`What may be spent, ${budget}, is less than one row can cost, ${least}: nothing is looked up.`]),
    ...(affordable >= rows || least !== null
      ? []
      : [`At the highest price, what may be spent suffices for the first ${affordable} of ${rows} rows.`]),
    ...(spent === 0 || budget !== null || credits.max === 0
      ? []
      : [
          `Its run has spent ${spent}, which max_credits counts, too: ${spent + credits.max} suffices for all rows.`,
        ]),
    ...(isDone ? [`${firstRows(rows, 'done already')} Leave rows out, or give more, for those after.`] : []),
    ...(more.lookups === 0 && !isDone ? [nothingToAsk(quote, rows === asked)] : []),
  ]
  return texts.length === 0 ? undefined : texts.join(' ')
}

/** The counts of rows that are not looked up, and what they are. */
const unasked = {
  done: 'done already',
  in_store: 'answered by what is stored',
  skipped: 'blank, or with a value already',
  known: 'known',
  suppressed: 'suppressed',
  invalid: 'invalid',
}

/** Returns why no row of a quote is looked up, where others may come after these. */
function nothingToAsk(quote: Fields, isPart: boolean): string {
  const counts = Object.entries(unasked).flatMap(([name, what]) =>
    Number(quote[name]) > 0 ? [`${quote[name]} ${what}`] : [],
  )
  const why = counts.length === 0 ? '' : `: ${counts.join(', ')}`
  const others = isPart
    ? ' rows counts the first rows of the file: leave it out, or give more, for those after.'
    : ''
  return `No row of these ${quote.rows} is looked up${why}.${others}`
}

/** Returns the lookup of each row of a file. Throws a Refusal for a value that the operation does not take. */
async function rowsCall(
  session: Session,
  { operation: name, file, values = {}, map, sheet, rows, sample, ...chosen }: BatchInput,
  others: Fields,
  globals: Fields = {},
) {
  const operation = batchOf(name)
  const csv = session.port.fileIn('file', file, 'read')
  const shape = await shapeOf(operation.id)
  const read = parseTexts(shape.input, values) as Fields
  const [unknown] = findUnknown(operation.id, shape, unwrap(operation.id, read))
  if (unknown !== undefined) throw refuseUnknown(unknown, Object.keys(shape.input.shape))
  const input = await session.port.resolveNames({ operation, shape, input: read })
  for (const [field, value] of Object.entries(input)) {
    const wrong = shape.input.shape[field]?.safeParse(value).error?.issues[0]
    if (wrong) throw new Refusal('tools.value', { field, wrong: wrong.message })
  }
  const { max_age: maxAge, only_missing: missing, skip_known: lists } = chosen
  const onlyMissing = missing?.replace(/^([^=]*=\s*)"(.*)"\s*$/s, '$1$2')
  const skipKnown = lists && listsIn(session, 'skip_known', lists)
  const options = { csv, map: mapOf(map), sheet, rows, sample, maxAge, onlyMissing, skipKnown, ...others }
  return { operation, shape, input, rows: { options: withoutUndefined(options) }, globals }
}

interface NewRun {
  readonly work: Work
  readonly isFlow?: boolean
  /** The most that it may spend now. */
  readonly held: number
  /** The most credits that it was asked to spend, also with what this server may not. */
  readonly limit?: number
}

/** The ends of a run after which the rows that it has are worth a file: its credits, a limit, a quota or its budget is used up. */
const usedUp: readonly number[] = [
  exitCodes.credits,
  exitCodes.weeklyLimit,
  exitCodes.planLimit,
  exitCodes.budget,
]

/**
 * Returns the work of a run that writes what it has where it stops because something is used up: an agent has no other way to
 * its rows. A file that somebody else wrote there stays until the run is finished.
 */
function writingSoFar(session: Session, work: Work, output: string): Work {
  const isFree = session.soFar.has(output) || !existsSync(output)
  return async (given) => {
    let id: string | undefined
    let rows = 0
    const noting: CommandLog['write'] = (event, facts) => {
      if (event === 'begun') id = (facts as { readonly id: string }).id
      if (event === 'result') rows = Number((facts as Fields).rows)
      given.log.write(event, facts)
    }
    const ended = await work({ ...given, log: { ...given.log, write: noting } })
    if (!isFree || id === undefined || rows === 0 || !usedUp.includes(ended.exit)) return ended
    // Only its counts are new.
    const counting: CommandLog['write'] = (event, facts) =>
      event === 'result' && given.log.write(event, facts)
    const exporting = session.port.run({ command: 'runs export', args: [id], globals: { output } })
    const { exit } = await exporting({ ...given, log: { ...given.log, write: counting, spend: () => {} } })
    if (exit === exitCodes.ok) session.soFar.add(output)
    return ended
  }
}

/** Starts a run and returns how it stands, at once or at its end. A call that is cancelled while it waits stops the run. */
async function startRun(
  session: Session,
  { work, isFlow = false, held, limit = 0 }: NewRun,
  seconds = 0,
  { signal, onStep }: ToolCall,
): Promise<Fields> {
  const started = session.startPaid(held, work, async ({ spent, counts }) => {
    // Rows whose outcome is unknown may have been charged.
    const steps = counts?.steps as readonly { readonly run: string | null }[] | undefined
    let reserved = 0
    for (const run of steps?.map((step) => step.run) ?? [await started.id])
      if (run) reserved += (await showRun(session, run)).credits_reserved
    return spent + reserved
  })
  const id = await started.id
  if (id === undefined) {
    resultOf(await started.ended)
    throw new Error('a run has ended that was not begun')
  }
  session.runs.set(id, started)
  session.limits.set(id, limit)
  const onAbort = () => started.stop()
  signal.addEventListener('abort', onAbort)
  // Before that, the rows of other lists are counted.
  const onRows = (step: WorkStep) => (step.total !== undefined || isFlow) && onStep(step)
  await waitFor(session, started, seconds * 1_000, signal, onRows)
  signal.removeEventListener('abort', onAbort)
  return statusOf(session, id)
}

/** Finds a run by its id, or the beginning of it; it may be that of a flow. */
async function findRun(session: Session, run: string): Promise<RunView> {
  const view = await showRun(session, run)
  if (view.operation !== 'flow') return view
  return { ...((await session.read('flow show', [view.id])) as RunView), operation: 'flow' }
}

interface FlowChoices {
  readonly allowsCommands: boolean
  readonly held: number
  readonly max_credits?: number | undefined
  readonly fresh?: boolean | undefined
  readonly wait?: number | undefined
}

/** Runs the flow at a path, or resumes it. One without paid steps needs no budget. */
function runFlow(
  session: Session,
  path: string,
  { max_credits: maxCredits, fresh, wait: seconds, held, allowsCommands }: FlowChoices,
  call: ToolCall,
): Promise<Fields> {
  const outward = allowsCommands ? {} : { outward: false }
  const running = {
    command: 'flow run',
    args: [path],
    options: { fresh, maxCredits, ...outward },
    globals: { yes: true },
  }
  const work = session.port.run(running, { moreCredits: held })
  return startRun(session, { work, isFlow: true, held }, seconds, call)
}

const isRun = (view: RunView | Fields): view is RunView => 'file' in view

/** Returns a run as agents are told of it: one that could ask nothing is no list that was looked up. */
export function shownRun<View extends Pick<RunView, 'status' | 'rows' | 'invalid'>>(view: View): View {
  const isFailed = view.status === 'finished' && view.rows > 0 && view.invalid === view.rows
  return isFailed ? { ...view, status: 'failed' } : view
}

export const showRun = async (session: Session, run: string): Promise<RunView> =>
  shownRun((await session.read('runs show', [run])) as RunView)

/** Returns the runs of this machine, newest first. */
export const listRuns = async (session: Session): Promise<readonly RunView[]> =>
  ((await session.read('runs list')) as readonly RunView[]).map(shownRun)

/** Returns how a run stands by its records, and how it ended where it was started here. */
async function statusOf(session: Session, id: string): Promise<Fields> {
  const view = await findRun(session, id)
  const { counts, problem } = session.runs.get(id)?.outcome ?? {}
  // A finished run that is asked for again writes another file.
  const output = counts?.output ?? view.output
  return withoutUndefined({
    ...view,
    output,
    credits_now: session.runs.get(id)?.outcome?.spent,
    counts,
    problem: problem && withRows(session, id, problem, counts),
    // What it has been given and why it stopped is known only to who has started it.
    next: view.status === 'stopped' && !problem ? goesOn(view, Number(counts?.rows ?? 0)) : undefined,
  })
}

/** Returns how a run goes on that has done so many of its rows. */
function goesOn({ operation, rows, done, invalid, rows_asked: asked }: RunView, counted: number): string {
  const tool = operation === 'flow' ? 'flow_run' : 'run_file'
  if (asked === undefined || Math.max(counted, done + (invalid ?? 0)) < asked)
    return `${tool} with what it was given goes on with the rows that are left, and pays for none twice.`
  return `${firstRows(asked, 'done, as asked', ` of ${rows}`)} ${tool} without rows, or with more of them, goes on with the others, and pays for none twice.`
}

const firstRows = (count: number, how: string, of = ''): string =>
  count === 1 ? `The first row${of} is ${how}.` : `The first ${count} rows${of} are ${how}.`

/**
 * Returns why a run stopped, with where the rows are that have an answer, and who can allow more where its budget ended it and
 * this server has none left.
 */
function withRows(session: Session, id: string, problem: Report, counts: Fields | undefined): Report {
  const { output } = counts ?? {}
  const kept = /The rows answered so far are in .*?\.partial\./s
  const written = `${String(output)} has what there is so far; without_result names the rows that are not looked up yet.`
  const hint = typeof output === 'string' ? problem.hint.replace(kept, () => written) : problem.hint
  // Less than was asked for is what this server had left.
  const [, reached] = ofRun.exec(problem.error) ?? []
  const isOwn = reached !== undefined && Number(reached.replaceAll(',', '')) < (session.limits.get(id) ?? 0)
  if (problem.exit_code !== exitCodes.budget || (session.left > 0 && !isOwn)) return { ...problem, hint }
  const { limit: most } = session.budget()
  const limit = `Budget reached: ${most} ${most === 1 ? 'credit' : 'credits'} for this server`
  const error = isOwn ? problem.error.replace(ofRun, limit) : problem.error
  return { ...problem, error, hint: hint.replace(/Raise --max-credits,.*$/s, personRaises) }
}

const ofRun = /^Budget reached: ([\d,]+) credits? for this run/

const personRaises =
  'A person can allow more: prospect mcp --max-credits N, in the configuration of this server.'
