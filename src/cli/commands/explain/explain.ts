import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { shapeOf } from '../../../api/areas/shapes.js'
import { columnsField, type Input, type RowColumns } from '../../../api/calls/caller.js'
import { isRefusal, Refusal } from '../../../api/calls/errors.js'
import {
  hiddenNote,
  lostIn,
  needsWords,
  notAskedIn,
  type OperationId,
  operation as operationOf,
  operations,
  vendorKindsOf,
} from '../../../api/operations/table.js'
import { dayMs, dayOf } from '../../../api/values/dates.js'
import { parseExact, parseJson } from '../../../api/values/json.js'
import { type Fields, isObject, pickFields, withoutUndefined } from '../../../api/values/objects.js'
import { openSuppressors } from '../../../engine/tables/members.js'
import { stepNames } from '../../../flows/chain.js'
import { foundIn } from '../../../flows/fields.js'
import { type FlowRecord, flowOperation } from '../../../flows/run.js'
import { firstText } from '../../../identity/value-kinds.js'
import type { RowLookup, Run, Runs } from '../../../runs/journal/runs.js'
import { isWritten, resultColumns, sourceNames, toCell } from '../../../runs/output/columns.js'
import { openRuns, type RunsLocation } from '../../../runs/records.js'
import type { RecordedRequest } from '../../../runs/request.js'
import { isEngineName, isServerName, shownTarget } from '../../../runs/target-name.js'
import type { Context } from '../../context/context.js'
import { quoteForShell } from '../../context/home.js'
import {
  openStateOf,
  openWorkspaceOwner,
  type SuppressionOwner,
  thisMachine,
} from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { isoTime, optionRows, runsLocationOf, sharedOptions, whole } from '../../options/values.js'
import { print } from '../../output/print.js'
import { countOf, formatPath, type Look, oneLine, wrapText } from '../../output/text.js'
import { type AnswerSource, sourceOfRun } from '../../target/local-target.js'
import { inputOf, isStep, notLookedUp, traced, unaskedText } from './unasked.js'

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
      if (row < 1) throw new Refusal('explain.no_row')
      const location = runsLocationOf(context, options)
      const { runs, now } = await openRuns(context, location)
      const run = await findRun(context, runs, file, options.run)
      if (run.operation !== flowOperation && run.total > 0 && row > run.total)
        throw new Refusal('explain.row', { row, rows: run.total })
      const desk = { context, runs, now, location, workspace: await openWorkspaceOwner(context) }
      if (run.operation === flowOperation) {
        const shown = await explainFlow(desk, run, row, column)
        const layout = (_: unknown, look: Look) => textOfFlow(shown, look)
        return print(context, shown, { layout })
      }
      const shown = await explainLookup(desk, run, row, column)
      await print(context, shown, { layout: (_, look) => textOf(shown, look) })
    })

/** Returns the run of a file whose rows are those of the run one by one. Throws a Refusal for other rows: no number names them. */
async function findRun({ streams }: Context, runs: Runs, file: string, id: string | undefined) {
  const path = resolve(streams.cwd, file)
  const typed = (name: string) => quoteForShell(formatPath(name, streams))
  const found = await runs.ofFile(path)
  // The rows that a stopped run has written so far.
  const before = path.replace(/\.partial$/, '')
  const isPartial = before !== path && found.wrote.length === 0 && found.read.length === 0
  const output = isPartial ? before : path
  const known = isPartial ? { wrote: (await runs.ofFile(before)).wrote, read: [] } : found
  const run = chooseRun({ ...known, wrote: writersOf(known.wrote, output, isPartial) }, file, id)
  const isInput = !known.wrote.some(({ number }) => number === run.number)
  const { sample } = (parseJson(run.request) as Partial<RecordedRequest>).choices ?? {}
  if (isInput && sample !== undefined)
    throw new Refusal('explain.sample', {
      file,
      rows: run.total,
      output: run.output && typed(run.output),
      run: run.id,
    })
  if (!isInput && !(await runs.isWhole(run, output)))
    throw new Refusal('explain.other_rows', { file, input: typed(run.file), run: run.id })
  return run
}

/**
 * Returns the runs that wrote an output, or its `.partial`: while that is there, it is all that a run has written that is not
 * finished, and the output is that of an earlier one.
 */
function writersOf(wrote: readonly Run[], output: string, isPartial: boolean): readonly Run[] {
  if (!isPartial && !existsSync(`${output}.partial`)) return wrote
  const isUnfinished = (run: Run) => run.output === output && run.status !== 'finished'
  const named = wrote.filter((run) => isUnfinished(run) === isPartial)
  return named.length === 0 ? wrote : named
}

/** What rows are explained with. */
interface Desk {
  readonly context: Context
  readonly runs: Runs
  readonly now: () => number
  readonly location: RunsLocation
  readonly workspace: SuppressionOwner | undefined
}

/** Returns what is recorded of a row of a run. `known` is what a flow knows of it, whose steps read no file. */
async function explainLookup(
  { context, runs, now, workspace }: Desk,
  run: Run,
  row: number,
  column: string | undefined,
  known?: Fields,
  unasked?: readonly [status: string, why: string],
): Promise<Explained> {
  const found = await runs.lookupOf(run, row - 1)
  const stored = found?.body ? parseExact(found.body) : undefined
  const body = await shownTo(context, workspace, stored)
  const given = found && (found.originAnsweredAt ?? found.answeredAt)
  const { _source_date: snapshot } = isObject(body) ? (body as { _source_date?: string }) : {}
  const snapshotAt = snapshot === undefined ? undefined : dayOf(snapshot)
  const asked =
    workspace && found ? await askedVendors(context, workspace, { run, row, found, body: stored, known }) : []
  const [status, why] = found
    ? [found.state, await whyEmpty(context, run, row - 1, found)]
    : (unasked ?? (await notLookedUp(context, run, row - 1)))
  const lost = found?.state === 'unknown' ? ((await lostByVendors(asked)) ?? lostAtServer(run, stored)) : null
  const wanted = resultNamed(run, column)
  const values = await valuesOf(run, body, wanted)
  const isBlank = wanted !== undefined && toCell(values[wanted]) === ''
  const source = found ? sourceNames[found.source] : null
  const [asking = run] = found?.originRun ? await runs.find(found.originRun) : []
  return {
    run: run.id,
    operation: run.operation,
    target: shownTarget(run.target),
    row,
    status,
    source,
    from_run: found?.originRun ?? null,
    // Single lookups are in no run that a person knows.
    from_row: found?.originRun && found.originRow !== null ? found.originRow + 1 : null,
    // What a proxy answers from its store, a member of the team has paid for.
    team_store: typeof found?.payer === 'string',
    from_single_lookup: source === 'reused' && !found?.originRun && typeof found?.payer !== 'string',
    paid_by: found?.payer || null,
    credits: found?.cost ?? 0,
    credits_held: found?.held ?? 0,
    asked_at: found ? isoTime(found.originAskedAt ?? found.askedAt) : null,
    answered_at: given ? isoTime(given) : null,
    // What was there when the answer was given, and when it was imported.
    answers_from: found ? (sourceOfRun(asking) ?? null) : null,
    snapshot: snapshot ?? null,
    // What open data says is as old as its snapshot.
    age_days: given ? Math.floor(Math.max(0, now() - (snapshotAt ?? given)) / dayMs) : null,
    why_empty:
      body === stored ? (withVendors(lost ?? why, asked) ?? (isBlank ? noValueNote : null)) : hiddenNote,
    providers: asked,
    values,
  }
}

/** Returns what is recorded of a row of the input of a flow, in each of its steps that it came to. */
async function explainFlow(desk: Desk, flow: Run, row: number, column: string | undefined) {
  const { flow: name, steps, rowsOfOne, order = {} } = parseJson(flow.request) as FlowRecord
  const names = stepNames(steps)
  const explained: (Explained & { readonly step: string })[] = []
  const recordedOf = async (id: string, ordinal: number) => {
    const [own] = await desk.runs.find(id)
    const found = own && (await desk.runs.lookupOf(own, ordinal))
    return found && { ...found, body: found.body ? parseExact(found.body) : undefined }
  }
  const whyUnasked = await traced(desk.context, desk.location, flow, row, recordedOf)
  let wrong: unknown
  let hasColumn = false
  // The rows of a step that come of the one row, by what is known of them.
  let ordinals = [row - 1]
  let rows: Fields[] = [{}]
  for (const [at, { run: id, is_source: isSource }] of steps.entries()) {
    const sorted = order[at]
    if (sorted) ordinals = ordinals.map((place) => sorted.indexOf(place))
    const [own] = id === null ? [] : await desk.runs.find(id)
    if (!own) continue
    // The search that the rows come from is one lookup.
    const places = isSource ? [0] : ordinals
    const bodies: unknown[] = []
    for (const [place, ordinal] of places.entries()) {
      const found = await desk.runs.lookupOf(own, ordinal)
      bodies.push(found?.body ? parseExact(found.body) : undefined)
      const why = found ? undefined : whyUnasked?.(at, ordinal)
      if (!found && why === undefined) continue
      const unasked = why === undefined ? undefined : unaskedText(flow, own, why)
      const explain = (name: string | undefined) =>
        explainLookup(desk, own, ordinal + 1, name, rows[place], unasked)
      const shown = await explain(column).catch(async (error: unknown) => {
        if (!isRefusal(error, 'explain.column')) throw error
        wrong = error
        // It is still asked what it cost.
        return { ...(await explain(undefined)), values: {} }
      })
      hasColumn ||= wrong === undefined || Object.keys(shown.values).length > 0
      explained.push({ step: names[at] ?? '', ...shown })
    }
    const each = rowsOfOne[at] ?? 1
    if (isSource) rows = [personOrCompany(listIn(bodies[0])[row - 1])]
    else {
      rows = rows.flatMap((known, place) =>
        Array.from({ length: each }, (_, one) => ({
          ...known,
          ...personOrCompany(each === 1 ? bodies[place] : listIn(bodies[place])[one]),
        })),
      )
      ordinals = ordinals.flatMap((place) => Array.from({ length: each }, (_, one) => place * each + one))
    }
  }
  if (explained.length === 0) throw new Refusal('explain.flow_row', { flow: name, row })
  if (wrong !== undefined && !hasColumn) throw wrong
  const credits = explained.reduce((sum, one) => sum + Number(one.credits), 0)
  return { run: flow.id, flow: name, row, credits, steps: explained }
}

const noValueNote = 'The answer has no value for it.'

const listIn = (body: unknown): readonly unknown[] => {
  const lists = isObject(body) ? Object.values(body).filter((one) => Array.isArray(one)) : []
  return (isObject(body) && Array.isArray(body[foundIn]) ? body[foundIn] : lists[0]) ?? []
}

/** Returns what an answer says of whom it is about, as a request would. */
function personOrCompany(answer: unknown): Fields {
  if (!isObject(answer)) return {}
  // A list has people with the companies that they work at.
  if (isObject(answer.lead)) return personOrCompany(answer.lead)
  const { first_name, last_name, network_profile_url, network_url, domain, name } = answer
  const isPerson = first_name !== undefined || last_name !== undefined
  return withoutUndefined(
    isPerson
      ? { first_name, last_name, network_url: network_profile_url ?? network_url }
      : { domain: domain ?? undefined, company_name: name ?? undefined },
  )
}

/** Returns an answer without whom the workspace, or this machine for servers called directly, suppresses. */
async function shownTo(context: Context, workspace: SuppressionOwner | undefined, stored: unknown) {
  const owners = [
    { driver: await openStateOf(context), owner: thisMachine },
    ...(workspace ? [workspace] : []),
  ]
  let body = stored
  for (const suppressor of await openSuppressors(owners)) body = await suppressor.records(body)
  return body
}

/** What a data vendor of the user was asked about a row, or why it was not. */
interface AskedVendor extends Fields {
  readonly provider: string
  /** What it was asked for: an email address, a phone, a record, or whether an address is right; null where it was not. */
  readonly kind: string | null
  readonly outcome: string
  /** Its own credits: what it charged. */
  readonly cost: number
  /** What it may have charged where its answer was lost or has not come yet. */
  readonly at_risk: number
  readonly asked_at: string | null
  readonly answered_at: string | null
  /** Whether another lookup asked it, and its answer was taken again for nothing. */
  readonly earlier: boolean
  readonly reason: string | null
}

interface ExplainedRow {
  readonly run: Run
  readonly row: number
  readonly found: RowLookup
  readonly body: unknown
  readonly known: Fields | undefined
}

/**
 * Returns the data vendors that the engine of this machine asked about a row, in the order in which it did; null where nothing
 * says any more whom the row is about.
 */
async function askedVendors(
  context: Context,
  { driver, owner }: SuppressionOwner,
  { run, row, found, body, known }: ExplainedRow,
): Promise<readonly AskedVendor[] | null> {
  const kinds = isCustom(run) ? [] : vendorKindsOf(operationOf(run.operation as OperationId))
  if (!isEngineName(run.target) || kinds.length === 0) return []
  const unasked = {
    kind: null,
    outcome: 'not_asked',
    cost: 0,
    at_risk: 0,
    asked_at: null,
    answered_at: null,
    earlier: false,
  }
  const skipped = notAskedIn(body).map(({ provider, reason }) => ({ ...unasked, provider, reason }))
  const input = known ?? (await inputOf(context, run, row - 1))?.input
  const query = queryOf(input ?? {}, body, kinds.includes('company'))
  if (Object.values(query).every((value) => value === undefined)) return null
  const { callsAbout, vendorsLacking } = await import('../../../providers/asked.js')
  const from = found.originAskedAt ?? found.askedAt
  const calls = await callsAbout(driver, owner, {
    query,
    kinds: kinds.includes('email') ? [...kinds, 'verify'] : kinds,
    runs: [found.originRun ?? run.id, run.id],
    from,
    until: found.originAnsweredAt ?? found.answeredAt ?? Number.MAX_SAFE_INTEGER,
  })
  const asked = calls.map((call) => ({
    provider: call.provider,
    kind: call.kind,
    outcome: call.state,
    cost: call.cost / 1_000_000,
    at_risk: (isOpenState(call.state) ? call.reserved : 0) / 1_000_000,
    asked_at: isoTime(call.askedAt),
    answered_at: isoTime(call.answeredAt),
    earlier: found.source !== 'live' || call.askedAt < from,
    reason: call.error,
  }))
  // Of a row in a flow it is not known whole what was asked with.
  if (found.state !== 'not_found' || known !== undefined) return [...asked, ...skipped]
  const types = [input?.enrichment_type ?? []].flat()
  const lacking = await vendorsLacking(driver, owner, query, {
    kinds: types.length === 0 ? kinds : kinds.filter((kind) => types.includes(kind)),
    until: found.originAnsweredAt ?? found.answeredAt ?? Number.MAX_SAFE_INTEGER,
  })
  const isNamed = ({ provider, kind }: (typeof lacking)[number]) =>
    skipped.some((one) => one.provider === provider) ||
    calls.some((call) => call.provider === provider && call.kind === kind)
  const notAsked = lacking
    .filter((one) => !isNamed(one))
    .map(({ provider, reason }) => ({ ...unasked, provider, reason }))
  return [...asked, ...skipped, ...new Map(notAsked.map((one) => [toKey(one), one])).values()]
}

const toKey = ({ provider, reason }: Pick<AskedVendor, 'provider' | 'reason'>) => `${provider} ${reason}`

/** Says of an empty row which vendors could not be asked about it. */
function withVendors(why: string | null, vendors: readonly AskedVendor[] | null): string | null {
  if (why === null) return why
  // The row may name them itself.
  const lacking = (vendors ?? []).filter(
    ({ provider, reason }) => reason?.startsWith(needsWords) && !why.includes(`${provider} (${reason})`),
  )
  if (lacking.length === 0) return why
  const names = lacking.map(({ provider, reason }) => `${provider} not asked: ${reason}`)
  return `${why.replace(/\.$/, '')}. ${names.join('; ')}.`
}

/** Says of a row whose outcome is unknown what asking its data vendors again does; null where none lost an answer. */
async function lostByVendors(vendors: readonly AskedVendor[] | null): Promise<string | null> {
  const lost = (vendors ?? []).filter(({ outcome }) => outcome === 'unknown')
  if (lost.length === 0) return null
  const { isUnderWay } = await import('../../../providers/poll.js')
  const charging = lost.filter(({ reason }) => !isUnderWay(reason))
  const namesOf = (some: typeof lost) => [...new Set(some.map(({ provider }) => provider))].join(' and ')
  return charging.length === 0
    ? `${namesOf(lost)} accepted the work, and has not answered: resume with --retry-unknown to ask for the answer again, which costs nothing.`
    : `${namesOf(charging)} may have charged, and the answer was lost: resume with --retry-unknown to ask once more, which may be charged again.`
}

/** Says the same of data vendors that a server has: no option of ours has it ask them again. */
function lostAtServer({ target }: Run, body: unknown): string | null {
  const lost = isServerName(target) ? lostIn(body) : []
  return lost.length === 0
    ? null
    : `${lost.join(' and ')}, which the server asks, may have charged, and the answer was lost: the server asks again when it would not reuse an answer any more.`
}

const isOpenState = (state: string): boolean => ['asked', 'submitted', 'unknown'].includes(state)

/** Returns whom a lookup was about: as its row said, and where that says nothing, as its answer does. */
function queryOf(input: Input, body: unknown, isCompany: boolean) {
  const answer = isObject(body) ? body : {}
  const text = (...names: readonly string[]) =>
    firstText(...names.map((name) => input[name]), ...names.map((name) => answer[name]))
  // Where a person works may have changed since.
  const own = isCompany
    ? text
    : (...names: readonly string[]) => firstText(...names.map((name) => input[name]))
  return {
    url: text('network_url', 'company_network_url', 'network_profile_url'),
    firstName: text('firstname', 'first_name'),
    lastName: text('lastname', 'last_name'),
    companyName: own('company_name', 'name'),
    domain: own('domain'),
    country: own('country'),
    columns: input[columnsField] as RowColumns | undefined,
  }
}

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

/** Returns why a row that was looked up is empty; null where it is not. */
async function whyEmpty(context: Context, run: Run, row: number, { state, error }: RowLookup) {
  const why = emptyBecause[state]?.(error) ?? null
  if (why === null || state !== 'not_found' || isCustom(run)) return why
  const { input = {}, notUnderstood = [] } = (await inputOf(context, run, row)) ?? {}
  const notes = notUnderstood.map(({ column, cell, isDomain }) =>
    isDomain
      ? `${oneLine(JSON.stringify(cell))} in "${column}" is not a domain: write one, such as acme.example.`
      : `${oneLine(JSON.stringify(cell))} in "${column}" was not understood, and was left out.`,
  )
  const { url, domain, country, companyName } = queryOf(input, {}, true)
  const isNameOnly = companyName !== undefined && [url, domain, country].every((one) => one === undefined)
  if (
    notes.length === 0 &&
    isNameOnly &&
    operationOf(run.operation as OperationId).batch?.identity === 'company'
  )
    notes.push(
      'The row gives a name only, which several companies may have: give the domain or the country, too.',
    )
  return notes.length === 0 ? why : `${why.replace(/\.$/, '')}. ${notes.join(' ')}`
}

/** Returns the run that wrote a file, the newest one; else the only one that read it, or the one that is named. */
function chooseRun(
  { wrote, read }: { readonly wrote: readonly Run[]; readonly read: readonly Run[] },
  file: string,
  id: string | undefined,
): Run {
  // A later run has replaced what an earlier one wrote.
  const usual = wrote.length > 0 ? wrote.slice(0, 1) : read.filter((run) => !isStep(run))
  const named = id === undefined ? usual : [...wrote, ...read].filter((run) => run.id.startsWith(id))
  const ids = new Map(named.map((run) => [run.id, run]))
  const [run, ...others] = ids.values()
  if (!run) throw new Refusal('explain.no_run', { file, run: id })
  if (others.length === 0) return run
  throw new Refusal('explain.runs', { file, known: named.map((one) => `${one.id} (${one.operation})`) })
}

/** Whether a run is that of a step of a flow that asks a program or an address. */
const isCustom = ({ operation }: Run): boolean => ['command', 'http'].includes(operation)

/** Returns the result that a column has: that of the input which a run fills in place has the result which it was to have. */
function resultNamed(run: Run, column: string | undefined): string | undefined {
  const { onlyMissing = '' } = (parseJson(run.request) as Partial<RecordedRequest>).choices ?? {}
  const [result, ...filled] = onlyMissing.split('=').map((part) => part.trim())
  return column !== undefined && filled.join('=') === column ? result : column
}

/**
 * Returns the results of a row by the names of their columns, with what is said of one that is wanted: its status, and who gave
 * it. Throws a Refusal for a column that there is not.
 */
async function valuesOf(run: Run, body: unknown, column: string | undefined): Promise<Fields> {
  if (isCustom(run)) return isObject(body) ? pickFields(body, column ? [column] : Object.keys(body)) : {}
  const operation = operationOf(run.operation as OperationId)
  const all = resultColumns((await shapeOf(operation.id)).output)
  const columns = all.filter(({ name }) => isWritten(operation, name))
  const said = [`${column}_status`, `${column}_source`]
  const wanted = columns.filter(({ name }) => column === undefined || name === column || said.includes(name))
  if (column !== undefined && !wanted.some(({ name }) => name === column))
    throw new Refusal('explain.column', {
      column,
      operation: run.operation,
      known: columns.map(({ name }) => name),
    })
  const at = (value: unknown, key: string): unknown => (isObject(value) ? value[key] : undefined)
  return Object.fromEntries(
    wanted.flatMap(({ name, path }) => {
      const value = path.map(String).reduce(at, body)
      return name !== column && toCell(value) === '' ? [] : [[name, value ?? null]]
    }),
  )
}

interface Explained extends Fields {
  readonly values: Fields
  readonly answers_from: AnswerSource | null
  readonly providers: readonly AskedVendor[] | null
}

function textOfFlow(
  { flow, run, row, credits, steps }: Awaited<ReturnType<typeof explainFlow>>,
  look: Look,
): string {
  const parts = steps.map(({ step, ...shown }) => `\nStep ${step}\n${textOf(shown as Explained, look)}`)
  return `Row ${row} of flow ${flow} (${run}): ${countOf(credits, 'credit', 'credits')}\n${parts.join('')}`
}

const ownCredits = (cost: number, atRisk: number): string =>
  atRisk > 0
    ? `up to ${countOf(atRisk, 'credit', 'credits')} of its own, at risk`
    : `${countOf(cost, 'credit', 'credits')} of its own`

function textOf({ values, providers, ...facts }: Explained, look: Look): string {
  const { run, operation, target, row, status, source, from_run, from_row, credits, credits_held } = facts
  const ofRow = from_row === null ? '' : `, the answer to row ${from_row} of run ${from_run}`
  const origin = facts.from_single_lookup ? ', the answer to a lookup outside of runs' : ofRow
  const payer = facts.paid_by === null ? '' : `, paid by ${facts.paid_by}`
  const team = facts.team_store ? `, from the team's store${payer}` : ''
  const days = facts.age_days === 0 ? 'today' : `${countOf(Number(facts.age_days), 'day', 'days')} ago`
  const age = facts.age_days === null ? '' : `, ${days}`
  const isKnown = operations().some(({ id }) => id === operation)
  const command = isKnown ? operationOf(operation as OperationId).command : operation
  const lines = [
    `Row ${row} of run ${run}: ${command} at ${target}`,
    `Status: ${status === 'none' ? 'not looked up' : status}${source === null ? '' : ` (${source}${origin}${team})`}`,
    `Cost: ${countOf(Number(credits), 'credit', 'credits')}${credits_held === 0 ? '' : `, ${credits_held} held`}`,
    ...(facts.asked_at === null ? [] : [`Asked: ${facts.asked_at}`]),
    ...(facts.answered_at === null
      ? []
      : [`Answered: ${facts.answered_at}${facts.snapshot === null ? age : ''}`]),
    ...(facts.answers_from === null ? [] : [`Answers from: ${facts.answers_from.text}`]),
    ...(facts.snapshot === null ? [] : [`Open data of: ${facts.snapshot}${age}`]),
    ...(facts.why_empty === null ? [] : [`Empty: ${facts.why_empty}`]),
    ...(providers === null ? ['Providers asked: not known, since its file is gone or has changed'] : []),
    ...(providers ?? []).map(
      ({ provider, kind, outcome, cost, at_risk: atRisk, asked_at: at, earlier, reason }) =>
        `${kind === null ? 'Not asked' : 'Asked'} ${provider}${kind === null ? '' : ` for ${kind.replaceAll('_', ' ')}`}: ${[
          ...(kind === null ? [] : [outcome.replaceAll('_', ' ')]),
          ...(reason === null ? [] : [oneLine(reason.replaceAll('_', ' '))]),
          ...(kind === null ? [] : [ownCredits(cost, atRisk)]),
          ...(at === null ? [] : [earlier ? `${at}, by another lookup` : at]),
        ].join(', ')}`,
    ),
    ...Object.entries(values).map(([name, value]) => {
      const text = toCell(value)
      const note =
        name === 'email_source' && text === 'pattern'
          ? ' (a guess: how the addresses of colleagues are written)'
          : text === '' && facts.why_empty === null
            ? ' (the answer has no value for it)'
            : ''
      return `${name}: ${text === '' ? 'empty' : oneLine(text)}${note}`
    }),
  ]
  const shown = look.isTerminal ? lines.flatMap((line) => wrapText(line, look.width)) : lines
  return `${shown.join('\n')}\n`
}
