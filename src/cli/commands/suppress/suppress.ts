import { isRefusal, Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { type Fields, withoutUndefined } from '../../../api/values/objects.js'
import {
  asRecord,
  readSuppressible,
  type Suppressible,
  suppressiblesIn,
} from '../../../catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../../catalogue/suppression/suppressions.js'
import { FooterCounter, footerNote } from '../../../csv/footer.js'
import { mentionedKeys } from '../../../identity/mentions.js'
import { splitPersonName } from '../../../identity/name.js'
import { hasKnownSuffix, isFreeMailbox } from '../../../identity/value-kinds.js'
import { type Mapping, positionsOf, rowInput } from '../../../runs/input/mapping.js'
import type { Table } from '../../../runs/input/table.js'
import { checkPairs, isMirror, type MappedList, mapList, openListFile } from '../../../runs/lists.js'
import { showMapping } from '../../batch/map-columns.js'
import { listPorts } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { openAdmin, openStateOf, openWorkspaceOwner, thisMachine } from '../../context/open-databases.js'
import { describe } from '../../messages.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { isoTime, type OptionsOf, optionRows, repeated } from '../../options/values.js'
import { print } from '../../output/print.js'
import { countOf, formatNumber } from '../../output/text.js'
import { targetIn } from '../../target/resolve-target.js'

export const suppressCommand: CommandFactory = ({ command, group }) =>
  group('suppress', 'People and companies that are never looked up, and never written', [
    command('add', 'Suppress people and companies')
      .argument('<value...>', values)
      .withOptions(reasonOption)
      .run(async (context, { args, options }) => {
        const added = args.map(readValue)
        const { entries, place } = await openSuppressions(context)
        const count = await entries.add(added, reasonOf(options), context.clock.now())
        warnOfMailboxes(context, new Set(mailboxProvidersIn(added)))
        const shown = added.map(({ kind, value }) => ({ kind, value }))
        const known = added.length - count
        const rest = known === 0 ? '' : ` ${countOf(known, 'was', 'were')} there already.`
        const text = `${countOf(count, 'new entry', 'new entries')} ${place}.${rest}`
        await print(context, { added: count, entries: shown }, { layout: () => `${text}\n` })
      }),
    command('import', 'Suppress the people and companies of a file')
      .argument(
        '<file>',
        'CSV or .xlsx, or - for stdin; one value a row, or a list of people or companies; crm:NAME for the people of your CRM who have opted out',
      )
      .withOptions({ ...reasonOption, ...importOptions })
      .run(async (context, { args: [file = ''], options }) => {
        if (isMirror(file)) return importOptedOut(context, file, reasonOf(options))
        const table = await openListFile(listPorts(context), file, 'FILE', options.sheet)
        const list = listIn(table, file, options)
        if (list) showMapping(context, file, list)
        const readRow = rowReader(list, options)
        const { entries, place } = await openSuppressions(context)
        const [reason, now] = [reasonOf(options), context.clock.now()]
        let [added, rows] = [0, 0]
        const [unread, unreadNumbers]: [number[], number[]] = [[], []]
        const mailboxProviders = new Set<string>()
        const footer = new FooterCounter()
        for await (const batch of table.rows()) {
          const records = batch.filter((row) => !footer.add(row))
          const found = records.map(({ cells, line }) => {
            const { entries: own, isUnread } = readRow(cells)
            if (isUnread && own.length > 0) unreadNumbers.push(line)
            if (own.length === 0 && cells.some((cell) => cell.trim() !== '')) unread.push(line)
            return own
          })
          rows += records.length
          for (const domain of mailboxProvidersIn(found.flat())) mailboxProviders.add(domain)
          added += await entries.add(found.flat(), reason, now)
        }
        warnOfMailboxes(context, mailboxProviders)
        if (footer.found) context.notify(describe(footerNote(footer.found)))
        const report = { rows, added, kind: list?.kind ?? null, not_understood: unread.length }
        const [first] = unread
        if (first !== undefined)
          context.notify(
            `${countOf(unread.length, 'row identifies', 'rows identify')} nobody, the first in line ${formatNumber(first)}.`,
          )
        const [number] = unreadNumbers
        if (number !== undefined)
          context.notify(
            `${countOf(unreadNumbers.length, 'phone number was', 'phone numbers were')} not understood, the first in line ${formatNumber(number)}: write them like +33612345678, or add a column with the country.`,
          )
        const text = `${countOf(rows, 'row', 'rows')} read: ${countOf(added, 'new entry', 'new entries')} ${place}.`
        await print(context, report, { layout: () => `${text}\n` })
        return unread.length + unreadNumbers.length > 0 ? exitCodes.someFailed : exitCodes.ok
      }),
    command('remove', 'No longer suppress somebody')
      .argument('<value>', values)
      .reads('engine')
      .run(async (context, { args: [text = ''] }) => {
        const entry = readValue(text)
        const found = await readSuppressions(context)
        const removed = (await found?.entries.remove(entry)) ?? 0
        if (!removed)
          throw new Refusal('usage.not_suppressed', { text, place: found?.place ?? 'on this machine' })
        const { kind, value } = entry
        const layout = () => `${value} is no longer suppressed.\n`
        await print(context, { removed, kind, value }, { layout })
      }),
    command('list', 'List who is suppressed; people who were forgotten appear without their names')
      .reads('engine')
      .printResult(
        async (context) => {
          const all = (await (await readSuppressions(context))?.entries.list()) ?? []
          return all.map((entry) => ({ ...entry, added_at: isoTime(entry.added_at) }))
        },
        { columns: ['kind', 'value', 'reason', 'added_at'], empty: 'Nobody is suppressed.' },
      ),
    command('check', 'Whether somebody is suppressed: exit code 13 if so, 0 if not')
      .argument('<value>', values)
      .reads('engine')
      .run(async (context, { args: [text = ''] }) => {
        const entry = readValue(text)
        const found = await (await readSuppressions(context))?.entries.find(mentionedKeys(asRecord(entry)))
        const suppressed = (found !== undefined && found.size > 0) || (await isOfSuppressed(context, entry))
        const { kind, value } = entry
        const layout = () => `${value} is ${suppressed ? '' : 'not '}suppressed.\n`
        await print(context, { kind, value, suppressed }, { layout })
        return suppressed ? exitCodes.checkFailed : exitCodes.ok
      }),
  ])

const importOptions = optionRows({
  kind: ['<kind>', 'whom the rows suppress (default: recognised)', ['companies', 'people']],
  map: ['<field=Column>', 'which column fills a field (repeatable)', repeated],
  sheet: ['<name>', 'the sheet of a workbook (default: its first one)'],
})

const reasonOption = optionRows({ reason: ['<text>', 'why, for those who read the list'] })

const values = 'an email address, domain, profile URL, phone number, or "Jane Doe at acme.example"'

const reasonOf = ({ reason }: OptionsOf<typeof reasonOption>): string | null => reason?.trim() || null

function readValue(text: string): Suppressible {
  const entry = readSuppressible(text)
  if (entry) return entry
  throw new Refusal('usage.no_suppressible', { text })
}

/** Free text in a file can look like a domain, such as `Node.js`. */
const isKnown = ({ kind, value }: Suppressible): boolean => kind !== 'domain' || hasKnownSuffix(value)

/** Returns a table with the columns that are recognised; `undefined` where each cell is read for itself. */
function listIn(
  table: Table,
  file: string,
  { kind, map = [] }: OptionsOf<typeof importOptions>,
): MappedList | undefined {
  checkPairs(map, [table.header])
  try {
    return asChosen(mapList(table, file, kind, map, 'suppress'), map)
  } catch (error) {
    if (!isRefusal(error, 'list.unidentified') || kind !== undefined || map.length > 0) throw error
    return undefined
  }
}

/** Returns what reads whom a row suppresses, and how many of its phone numbers are none that can be. */
function rowReader(list: MappedList | undefined, { kind }: OptionsOf<typeof importOptions>) {
  const read = (row: Fields, phones: readonly string[] = []) => {
    const entries = suppressiblesIn(row, kind).filter(isKnown)
    const numbers = new Set(entries.flatMap((one) => (one.kind === 'phone' ? [one.value] : [])))
    return { entries, isUnread: numbers.size === 0 && phones.length > 0 && kind !== 'companies' }
  }
  if (!list) return (cells: readonly string[]) => read({ ...cells })
  const toFields = rowInput(list.mapping)
  // Whoever is suppressed is so with all their addresses and numbers.
  const columns = ['email', 'phone'].map((field) => [field, positionsOf(list.mapping, field)] as const)
  return (cells: readonly string[]) => {
    const filled = columns.map(([field, all]) => {
      const values = all.map((at) => cells[at]?.trim() ?? '').filter((cell) => cell !== '')
      return [field, [...new Set(values)]] as const
    })
    const { phone: phones = [], ...addresses } = Object.fromEntries(filled)
    return read({ ...toFields(cells), ...addresses, phone: phones }, phones)
  }
}

/** Returns a list as it is read: where columns were chosen, without those that only look right. */
function asChosen({ kind, mapping }: MappedList, map: readonly string[]): MappedList {
  const isGuess = ({ by }: Mapping['columns'][number]) => by === 'values' || by === 'last resort'
  const columns = map.length === 0 ? mapping.columns : mapping.columns.filter((column) => !isGuess(column))
  return { kind, mapping: { ...mapping, columns } }
}

const mailboxProvidersIn = (added: readonly Suppressible[]): string[] =>
  added.map(({ value }) => value).filter(isFreeMailbox)

function warnOfMailboxes(context: Context, domains: ReadonlySet<string>): void {
  for (const domain of domains)
    context.notify(
      `${domain} is a mailbox provider: everybody with an address there is suppressed. To undo: prospect suppress remove ${domain}`,
    )
}

/** Suppresses the people whom a CRM says that they must not be contacted. */
async function importOptedOut(context: Context, source: string, reason: string | null): Promise<void> {
  const { openOptedOut } = await import('../../context/crm.js')
  const optedOut = await openOptedOut(context, source.slice(source.indexOf(':') + 1))
  const { entries, place } = await openSuppressions(context)
  const now = context.clock.now()
  let [added, rows] = [0, 0]
  for await (const people of optedOut()) {
    rows += people.length
    const found = people.flatMap((one) => suppressiblesIn(one, 'people')).filter(isKnown)
    added += await entries.add(found, reason ?? `opted out in ${source}`, now)
  }
  const text = `${countOf(rows, 'person has', 'people have')} opted out: ${countOf(added, 'new entry', 'new entries')} ${place}.`
  await print(context, { rows, added, kind: 'people', not_understood: 0 }, { layout: () => `${text}\n` })
}

/** Opens whom the target of a command suppresses, also where nobody is yet; `place` says where that is kept. */
async function openSuppressions(context: Context) {
  if (!isDirect(context)) await openAdmin(context, 'records')
  return (await readSuppressions(context)) as Suppressions
}

type Suppressions = NonNullable<Awaited<ReturnType<typeof readSuppressions>>>

/** Does the same to read them. Creates no workspace: `undefined` where there is none, which suppresses nobody. */
async function readSuppressions(context: Context) {
  if (isDirect(context))
    return {
      entries: suppressionsOf(await openStateOf(context), thisMachine),
      place: 'on this machine, for servers called directly',
    }
  const workspace = await openWorkspaceOwner(context)
  if (!workspace) return undefined
  const { driver, owner, name } = workspace
  return { entries: suppressionsOf(driver, owner), place: `in the workspace ${name}` }
}

/** Whether a lookup here would take what was typed for somebody who is suppressed by another name or address. */
async function isOfSuppressed(context: Context, entry: Suppressible): Promise<boolean> {
  if (!context.isLocal()) return false
  const suppressor = await context.suppressor()
  if (!suppressor) return false
  const { full_name: name, url: network_url, ...record } = asRecord(entry)
  const [first_name, last_name] = splitPersonName(String(name ?? '')) ?? []
  const asked = withoutUndefined({ ...record, first_name, last_name, network_url })
  const [is] = await suppressor.areAskedAbout([asked], await context.catalogue())
  return is === true
}

function isDirect(context: Context): boolean {
  const target = targetIn(context)
  return target.kind === 'remote' && target.direct
}
