import { resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { crmOf } from '../../../crm/accounts.js'
import { type CrmKind, crmKinds, pushModes } from '../../../crm/connector.js'
import { pull } from '../../../crm/mirror.js'
import { type PushAsked, type PushPlan, planPush } from '../../../crm/plan.js'
import {
  beginPush,
  countWrites,
  executePush,
  findUnfinished,
  listPushes,
  type StoredPush,
  setPushState,
  settleOpen,
  writesOf,
} from '../../../crm/push.js'
import { undoPush } from '../../../crm/undo.js'
import type { CrmSettings } from '../../../flows/format.js'
import type { Table } from '../../../runs/input/table.js'
import { openListFile } from '../../../runs/lists.js'
import { crmNames } from '../../../runs/output/crm-names.js'
import { rowFormats } from '../../../runs/output/formats.js'
import { createWriter } from '../../../runs/output/writer.js'
import { holdRun } from '../../../runs/records.js'
import { capHeap } from '../../batch/run.js'
import { listPorts } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { type OpenedCrm, openCrm, openCrmRecords, suppressionOf } from '../../context/crm.js'
import { interruptible, readText } from '../../context/io.js'
import {
  among,
  type CommandFactory,
  type Invocation,
  resolveIds,
  type StoredKind,
} from '../../options/command-environment.js'
import { isoTime, type OptionsOf, optionRows, repeated, whole } from '../../options/values.js'
import { openFile, pathOf } from '../../output/output.js'
import { print } from '../../output/print.js'
import { startProgress } from '../../output/progress.js'
import { canAsk, confirm, confirmLoss } from '../../output/prompt.js'
import { countOf, formatNumber } from '../../output/text.js'
import { growingPercent, lockOf } from './crm.js'

export const pushCommand: CommandFactory = ({ command }) => {
  const push = command('push', 'Write rows of a file to your CRM: never twice, and it can be undone')
    .argument('<file>', 'what to write: CSV or .xlsx')
    .withOptions(pushOptions)
    .run(pushFile)
  push.addCommand(
    command('list', 'The pushes of this machine, the newest first').printResult(
      async (context) => {
        const opened = await openCrmRecords(context)
        const rows = []
        for (const one of await listPushes(opened.database)) rows.push(await shownPush(opened, one))
        return rows
      },
      {
        columns: ['id', 'crm', 'file', 'mode', 'state', 'written', 'refused', 'began_at'],
        empty: 'Nothing was pushed yet.',
      },
    ),
  )
  push.addCommand(
    command('show', 'What a push wrote, and what was in its place')
      .addStoredId(stored)
      .printResult(
        async (context, invocation) => {
          const opened = await openCrmRecords(context)
          return detailsOf(context, opened, await findPush(opened, invocation))
        },
        { layout: (body) => showPush(body as Awaited<ReturnType<typeof detailsOf>>) },
      ),
  )
  push.addCommand(
    command('undo', 'Restore the fields that a push changed, and archive the records that it created')
      .addStoredId(stored)
      .run(undo),
  )
  return push
}

const stored: StoredKind = { noun: 'push', list: 'push list' }

const pushOptions = optionRows({
  to: ['<crm>', 'the CRM, which is connected', crmNames],
  mode: [
    '<mode>',
    'fill: create what is missing and fill empty fields (default); create: only new records; overwrite: also change --fields',
    pushModes,
  ],
  kind: ['<kind>', 'what the rows are (default: recognised)', crmKinds],
  map: [
    '<property=Column>',
    'which column fills a property of the CRM; none with property= (repeatable)',
    repeated,
  ],
  fields: ['<names>', 'change only these properties of records that are there: a,b,c'],
  settings: [
    '<file>',
    'more settings (YAML): mode, map, values, fields, owner, unknown, max_creates, as the output of a flow has them',
  ],
  owner: ['<email>', 'who owns the records that are created'],
  maxCreates: ['<n>', 'refuse to create more records than this', whole],
  dryRun: ['', 'only show what would be written; prints the digest for --apply'],
  apply: ['<digest>', 'write what a dry run with this digest has shown, and nothing else'],
  review: ['<file>', 'write the rows to this file that are for a person to decide (CSV)'],
  rejects: ['<file>', 'write the rows to this file that are invalid or were refused, with the reason (CSV)'],
  sheet: ['<name>', 'the sheet of a workbook (default: its first one)'],
})

type PushOptions = OptionsOf<typeof pushOptions>

async function findPush({ database }: Pick<OpenedCrm['records'], 'database'>, invocation: Invocation) {
  const all = await listPushes(database)
  const [id] = await resolveIds(invocation, stored, among(all.map((one) => one.id)))
  return all.find((one) => one.id === id) as StoredPush
}

async function shownPush({ database, locks }: OpenedCrm['records'], one: StoredPush) {
  const writes = await countWrites(database, one.number)
  const countIn = (isMeant: (state: string) => boolean) =>
    writes.reduce((sum, { state, count }) => sum + (isMeant(state) ? count : 0), 0)
  const isDead = one.state === 'running' && !(await locks.isHeld(lockOf(one)))
  return {
    id: one.id,
    crm: one.crm,
    account: one.account,
    file: one.file,
    mode: one.request.mode,
    state: isDead ? 'stopped' : one.state,
    written: countIn((state) => state !== 'sent' && state !== 'refused'),
    refused: countIn((state) => state === 'refused'),
    began_at: isoTime(one.beganAt),
    ended_at: isoTime(one.endedAt),
  }
}

async function detailsOf(context: Context, records: OpenedCrm['records'], one: StoredPush) {
  const all = (await Array.fromAsync(writesOf(records.database, one.number))).flat()
  const writes = all.map(({ push: _, sentAt, ...rest }) => ({
    ...rest,
    sent_at: isoTime(sentAt),
  }))
  // Whoever is suppressed since is not shown.
  const suppressor = await context.suppressor()
  const left = suppressor ? (((await suppressor.records(writes)) ?? []) as typeof writes) : writes
  return { ...(await shownPush(records, one)), writes: left }
}

function showPush({ writes, ...push }: Awaited<ReturnType<typeof detailsOf>>): string {
  const head = `${push.id} · ${push.crm} account ${push.account} · ${push.file} · ${push.mode} · ${push.state}`
  const lines = writes.map(({ step, row, action, state, record, fields, before, error }) => {
    const values = Object.entries(fields).map(([name, value]) =>
      action === 'update' ? `${name} ${before[name] || '(empty)'} → ${value}` : `${name} ${value}`,
    )
    const what = [`row ${row}`, `${step} ${record ?? ''}`.trim(), `${action} (${state})`]
    return `  ${what.join(' · ')}: ${values.join(', ')}${error === null ? '' : ` · ${error}`}`
  })
  return `${[head, ...lines].join('\n')}\n`
}

async function pushFile(outer: Context, { args: [file = ''], options }: Invocation<PushOptions>) {
  const context = outer.withGlobals({ fields: undefined })
  const { to, rejects, review, dryRun = false, apply } = options
  if (to === undefined) throw new Refusal('crm.no_target', { known: crmNames })
  crmOf(to)
  if (dryRun && apply !== undefined) throw new Refusal('crm.apply_dry')
  const paths = {
    rejects: pathOf('--rejects', rejects, context.streams),
    review: pathOf('--review', review, context.streams),
  }
  const written = await settingsIn(context, options.settings)
  const asked: PushAsked = {
    mode: options.mode ?? written.mode ?? 'fill',
    kind: options.kind,
    map: [...pairsOf(written), ...(options.map ?? [])],
    values: written.values ?? {},
    fields: options.fields?.split(',').map((name) => name.trim()) ?? written.fields,
    owner: options.owner ?? written.owner,
    // A file says itself which companies there are.
    unknown: written.unknown ?? true,
  }
  const table = await openListFile(listPorts(context), file, 'FILE', options.sheet)
  context.onClose(capHeap(growingPercent))
  return interruptible(context.streams, async (signal) => {
    const opened = await openCrm(context, to, signal)
    const given = {
      ...asked,
      file: table.path,
      apply,
      dryRun,
      maxCreates: options.maxCreates ?? written.max_creates,
    }
    const { plan, push } = await pushTable(context, opened, table, given, signal)
    await writeRows(context, table, paths.review, 'review', plan, signal)
    await writeRows(context, table, paths.rejects, 'rejects', plan, signal)
    const report = summaryOf(opened, plan, push, asked)
    const lines = describe(opened, plan, report, dryRun ? 'shown' : 'done')
    await print(context, report, { layout: () => `${lines.join('\n')}\n` })
    return !dryRun && report.invalid + report.refused > 0 ? exitCodes.someFailed : exitCodes.ok
  })
}

const pairsOf = ({ map = {} }: CrmSettings): string[] =>
  Object.entries(map).map(([property, column]) => `${property}=${column.replace(/^input\./, '')}`)

async function settingsIn({ streams }: Context, file: string | undefined): Promise<CrmSettings> {
  if (file === undefined) return {}
  const { readCrmSettings } = await import('../../../flows/crm-settings.js')
  return readCrmSettings(await readText(streams, resolve(streams.cwd, file), '--settings'), file)
}

/** Writes the rows of a flow to a CRM, as `push` does. Tells what is not written, and returns how many rows the CRM does not take. */
export async function pushRows(
  outer: Context,
  crm: string,
  settings: CrmSettings,
  file: string,
  kind: CrmKind,
): Promise<number> {
  // Whoever started the flow has seen what it does.
  const context = outer.withGlobals({ fields: undefined, yes: true })
  const { mode = 'fill', values = {}, fields, owner, unknown = false, max_creates: maxCreates } = settings
  const asked: PushAsked = { mode, kind, map: pairsOf(settings), values, fields, owner, unknown }
  const table = await openListFile(listPorts(context), file, 'output')
  return interruptible(context.streams, async (signal) => {
    const opened = await openCrm(context, crm, signal)
    const given = { ...asked, file: 'a flow', apply: undefined, dryRun: false, maxCreates }
    const { plan, push } = await pushTable(context, opened, table, given, signal)
    const report = summaryOf(opened, plan, push, asked)
    for (const line of describe(opened, plan, report, 'done')) context.notify(line)
    for (const error of plan.rows.firstRefusals(mostShown)) context.notify(`  refused: ${error}`)
    return report.invalid + report.refused
  })
}

interface PushGiven extends PushAsked {
  readonly file: string
  readonly apply?: string | undefined
  readonly dryRun: boolean
  readonly maxCreates?: number | undefined
}

/** Plans a push and, where that is wanted, writes it. */
async function pushTable(
  context: Context,
  opened: OpenedCrm,
  table: Table,
  { file, apply, dryRun, maxCreates, ...asked }: PushGiven,
  signal: AbortSignal,
) {
  const { account, connector, records } = opened
  const { database, now, locks } = records
  await holdRun(context, locks, lockOf(account), { of: 'lock', name: lockOf(account) })
  const reading = await startProgress(context, ({ rows }) => `${countOf(rows, 'record', 'records')} read`)
  const areSuppressed = await suppressionOf(context)
  const onClose = context.onClose.bind(context)
  const ports = { database, account, connector, areSuppressed, now, signal, onClose }
  let plan: PushPlan
  try {
    const onRecords = (rows: number) => reading.update({ rows })
    await settleOpen(ports)
    await pull(connector, { ...ports, onRecords })
    plan = await planPush(ports, table, file, asked)
  } finally {
    reading.stop()
  }
  const nothing = { plan, push: undefined }
  const creates = plan.rows.countCreates()
  if (maxCreates !== undefined && creates > maxCreates && !dryRun)
    throw new Refusal('crm.too_many_creates', { creates, max: maxCreates })
  if (dryRun) return nothing
  const before = await findUnfinished(database, account, plan.fileHash, asked)
  const writes = plan.rows.countWrites(asked.mode)
  if (apply !== undefined && apply !== plan.digest && apply !== before?.request.digest) {
    const all = await listPushes(database, 'WHERE crm = ? AND account = ?', account.crm, account.account)
    // Whoever repeats it after a kill does not know that it was done.
    const isDone = writes === 0 && all.some(({ request }) => request.digest === apply)
    if (isDone) return nothing
    throw new Refusal('crm.digest', { apply, digest: plan.digest })
  }
  if (writes === 0 && !before) return nothing
  if (apply === undefined) {
    if (!canAsk(context) && !context.globals.yes)
      throw new Refusal('crm.unconfirmed', { digest: plan.digest })
    for (const line of describe(opened, plan, summaryOf(opened, plan, undefined, asked), 'asked'))
      context.notify(line)
    const where = `${account.isLive ? 'the LIVE account' : 'the SANDBOX'} ${account.name}`
    await confirm(context, `Write to ${where} of ${account.crm}?`, 'no')
  }
  const push =
    before ??
    (await beginPush(
      { database, account, now },
      {
        id: context.ids.uuid(),
        file,
        fileHash: plan.fileHash,
        request: { ...asked, digest: plan.digest },
      },
    ))
  await setPushState({ database, account, now }, push, 'running')
  const progress = await startProgress(context, ({ rows }) => `${countOf(rows, 'row', 'rows')} written`)
  try {
    await executePush({ ...ports, onRows: (rows) => progress.update({ rows, total: writes }) }, push, plan)
    await setPushState({ database, account, now }, push, 'finished')
    return { plan, push }
  } catch (error) {
    await setPushState({ database, account, now }, push, 'stopped')
    throw error
  } finally {
    progress.stop()
  }
}

type Summary = ReturnType<typeof summaryOf>

function summaryOf(
  { account, connector }: OpenedCrm,
  plan: PushPlan,
  push: StoredPush | undefined,
  asked: PushAsked,
) {
  const { rows, leftOut, digest, mapping } = plan
  const { records, counts } = connector.costs.write
  const portions = (n: number) => Math.ceil(n / records)
  const create = rows.count('create')
  const update = rows.count('update')
  const newCompanies = mapping.kind === 'people' ? rows.count('create', 'companies') : 0
  const association = rows.countAssociated(asked.mode)
  const one = rows.countSingle()
  const many = create + newCompanies - one
  const requests = one + portions(many) + portions(update) * 2 + portions(association) * 3
  const { unit, perDay, leftToday } = connector.limits()
  return {
    push: push?.id ?? null,
    digest,
    crm: account.crm,
    account: account.account,
    is: account.isLive ? 'LIVE' : 'SANDBOX',
    kind: mapping.kind,
    mode: asked.mode,
    rows: rows.countRows(),
    create,
    update,
    same: rows.count('same'),
    review: rows.count('review'),
    suppressed: rows.count('suppressed'),
    repeated: rows.count('repeated'),
    invalid: rows.count('invalid'),
    unknown: rows.count('unknown'),
    refused: rows.countRefused(),
    new_companies: newCompanies,
    associated: association,
    invalid_reasons: rows.invalidReasons(),
    left_out: leftOut,
    mapping: Object.fromEntries(mapping.columns.map(({ column, property }) => [property.name, column])),
    company_columns: mapping.ofCompany,
    unused: mapping.unused,
    one_by_one: one,
    calls: requests * counts,
    unit,
    per_day: perDay ?? null,
    left_today: leftToday ?? null,
  }
}

const mostShown = 5

const shareOf = (part: number, all: number): string =>
  part * 1_000 < all ? 'less than 0.1 %' : `${((part / all) * 100).toFixed(1)} %`

/** Returns the lines that tell a person what a push would write, with the way to it or a question, or has written. */
function describe(
  { account, connector }: OpenedCrm,
  plan: PushPlan,
  report: Summary,
  state: 'shown' | 'asked' | 'done',
): string[] {
  const { create, update, same, review, suppressed, repeated: again, invalid, mode, left_out: left } = report
  const isDone = state === 'done'
  const name = `${account.crm} account ${account.name} (${report.is})`
  const parts: readonly (readonly [number, string])[] = [
    [create, isDone ? 'created' : 'to create'],
    [update, mode === 'overwrite' ? (isDone ? 'changed' : 'to change') : isDone ? 'filled' : 'to fill'],
    [same, 'the same'],
    [review, 'for review'],
    [suppressed, 'suppressed'],
    [again, 'repeated'],
    [invalid, 'invalid'],
    [report.unknown, 'left out, as nothing but the domain is known'],
    [report.refused, 'refused'],
  ]
  const counts = parts.flatMap(([count, what]) => (count > 0 ? [`${formatNumber(count)} ${what}`] : []))
  const lines = [
    name,
    `${countOf(report.rows, 'row', 'rows')} (${report.kind}): ${counts.join(' · ') || 'nothing'}`,
  ]
  if (report.new_companies > 0 || report.associated > 0)
    lines.push(
      `${countOf(report.new_companies, 'new company', 'new companies')}, ${countOf(report.associated, 'person', 'people')} with their company`,
    )
  for (const [reason, count] of Object.entries(report.invalid_reasons))
    lines.push(`  invalid: ${formatNumber(count)}, ${reason}`)
  for (const [property, count] of Object.entries(left))
    lines.push(`  left out: ${countOf(count, 'value', 'values')} that ${property} does not take`)
  const mapped = Object.entries(report.mapping).map(([property, column]) => `${property} <- "${column}"`)
  if (!isDone) lines.push(`  ${mapped.join(', ')}`)
  if (!isDone && report.company_columns.length > 0)
    lines.push(`  The company of a person <- ${report.company_columns.map((name) => `"${name}"`).join(', ')}`)
  if (!isDone && report.unused.length > 0) lines.push(`  Not written: ${report.unused.join(', ')}`)
  if (isDone) return report.push === null ? lines : [...lines, `To undo: prospect push undo ${report.push}`]
  for (const { id, values, before, line } of plan.rows.firstUpdates(mostShown))
    lines.push(
      `  line ${line}, record ${id}: ${Object.entries(values)
        .map(([property, value]) => {
          const now = before[property]
          return `${property} ${now ? labelOf(plan, property, now) : '(empty)'} → ${labelOf(plan, property, value)}`
        })
        .join(', ')}`,
    )
  const { left_today: today, calls } = report
  const share = today === null || today === 0 ? '' : `, ${shareOf(calls, today)} of what is left today`
  lines.push(`${countOf(calls, report.unit.replace(/s$/, ''), report.unit)}${share}`)
  // A CRM that takes one record at a time always does.
  if (report.one_by_one > 1 && connector.costs.write.records > 1)
    lines.push(
      `${countOf(report.one_by_one, 'record is', 'records are')} created one by one, as nothing in them is unique: prospect crm connect ${account.crm} --create-key adds what is.`,
    )
  const isNothing = create + update + report.associated === 0
  return state === 'asked' || isNothing ? lines : [...lines, `To write this: --apply ${report.digest}`]
}

/** Returns what the CRM's people see of a value: an option by its label. */
function labelOf({ mapping }: PushPlan, name: string, value: string): string {
  const column = mapping.columns.find(({ property }) => property.name === name)
  return column?.property.options.find((option) => option.value === value)?.label ?? value
}

/** Writes rows of a file with a reason each to a file; nothing without one. */
async function writeRows(
  context: Context,
  table: Table,
  path: string | undefined,
  of: 'review' | 'rejects',
  { rows }: PushPlan,
  signal: AbortSignal,
): Promise<void> {
  if (path === undefined) return
  const own = table.header.filter((name) => name !== reasonColumn)
  const header = [...own, reasonColumn]
  interface Kept {
    readonly cells: readonly string[]
    readonly reason: string
  }
  const cellsOf = ({ cells, reason }: Kept) => [
    ...own.map((name) => cells[table.header.indexOf(name)] ?? ''),
    reason,
  ]
  const layout = {
    header,
    cells: cellsOf,
    record: (kept: Kept) => Object.fromEntries(cellsOf(kept).map((cell, at) => [header[at], cell])),
  }
  const writer = createWriter(
    await openFile(context, path, `--${of}`, signal),
    rowFormats.csv.create<Kept>(layout),
  )
  let number = 0
  try {
    for await (const batch of table.rows()) {
      const kept: Kept[] = []
      const reasons = rows.reasons(of, number + 1, number + batch.length)
      for (const { cells } of batch) {
        const reason = reasons.get(++number)
        if (reason !== undefined) kept.push({ cells, reason })
      }
      await writer.write(kept)
    }
    await writer.finish()
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

const reasonColumn = '_reason'

async function undo(context: Context, invocation: Invocation) {
  const one = await findPush(await openCrmRecords(context), invocation)
  return interruptible(context.streams, async (signal) => {
    const opened = await openCrm(context, one.crm, signal)
    const { account, connector, records } = opened
    const { database, now, locks } = records
    if (account.account !== one.account)
      throw new Refusal('crm.other_account', { crm: one.crm, account: one.account, now: account.account })
    await holdRun(context, locks, lockOf(account), { of: 'lock', name: lockOf(account) })
    const what = `This takes back what ${one.file} wrote to ${account.isLive ? 'the LIVE account' : 'the SANDBOX'} ${account.name}.`
    await confirmLoss(context, what)
    context.onClose(capHeap(growingPercent))
    const progress = await startProgress(
      context,
      ({ rows }) => `${countOf(rows, 'record', 'records')} undone`,
    )
    const areSuppressed = await suppressionOf(context)
    const ports = { database, account, connector, areSuppressed, now, signal }
    await settleOpen(ports)
    const undone = await undoPush({ ...ports, onRows: (rows) => progress.update({ rows }) }, one).finally(
      () => progress.stop(),
    )
    await setPushState({ database, account, now }, one, 'undone')
    const { restored, archived, dissociated, kept } = undone
    const layout = () =>
      [
        `${countOf(restored, 'record', 'records')} restored, ${formatNumber(archived)} archived.`,
        ...kept.map(({ step, record, reason }) => `  kept: ${step} ${record}, ${reason}`),
        '',
      ].join('\n')
    await print(context, { push: one.id, restored, archived, dissociated, kept }, { layout })
    return kept.length > 0 ? exitCodes.someFailed : exitCodes.ok
  })
}
