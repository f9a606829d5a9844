import { commandOf } from '../../api/operations/table.js'
import { dayMs, dayOf, isoDay } from '../../api/values/dates.js'
import { withoutUndefined } from '../../api/values/objects.js'
import type { MovementRecord } from '../../engine/admin/report.js'
import type { Grouping } from '../../engine/credits/ledger.js'
import { sumSpent } from '../../runs/journal/spending.js'
import { shownTarget } from '../../runs/target-name.js'
import {
  Empty,
  Form,
  formatNumber,
  Input,
  none,
  pathOf,
  Section,
  Select,
  Table,
  Tabs,
} from '../page/elements.js'
import { type DashboardPorts, engineOf, type Html, type Page, type View } from '../page/view.js'

const usualDays = 30
const pageSize = 50

/** What is summed by. Runs and targets are those of the ledger of this machine, whose days are of real time. */
const groupings = ['day', 'operation', 'member', 'target', 'run'] as const
type By = (typeof groupings)[number]

/** Whether sums are those of the ledger of this machine, and not of the movements of its engine. */
const isOfMachine = ({ target }: DashboardPorts, by: readonly By[]): boolean =>
  target.isServer || by.includes('run') || by.includes('target')

export const ledger: View = {
  name: 'ledger',
  title: 'Ledger',
  render: async (page) => {
    const { target } = page.ports
    const by = readGroupings(page.ports, page.query.getAll('by'))
    const days = await readDays(page.ports, by, Object.fromEntries(page.query))
    return (
      <>
        <Tabs
          label="Parts of the ledger"
          tabs={[
            // They are those of an engine of this machine.
            ...(target.isServer
              ? []
              : [{ title: 'Movements', path: pathOf('ledger'), isCurrent: by.length === 0 }]),
            ...groupings.map((name) => ({
              title: `By ${name}`,
              path: pathOf('ledger', {
                by: name,
                from: page.query.get('from') ?? '',
                to: page.query.get('to') ?? '',
              }),
              isCurrent: by.length === 1 && by[0] === name,
            })),
          ]}
        />
        {by.length === 0 ? await movementsOf(page) : await sumsOf(page, by, days)}
        {!page.isReadOnly && exportForm(by, days, onlyOf(Object.fromEntries(page.query)))}
      </>
    )
  },
  actions: {
    export: async (ports, fields) => {
      const by = readGroupings(ports, [fields.by ?? ''])
      const format = fields.format === 'ndjson' ? 'ndjson' : 'csv'
      const text = ports.render(await recordsOf(ports, by, fields), format)
      return new Response(ReadableStream.from(text).pipeThrough(new TextEncoderStream()), {
        headers: {
          'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
          'content-disposition': `attachment; filename="${by.length > 0 ? `ledger-by-${by.join('-')}` : 'movements'}.${format}"`,
        },
      })
    },
  },
}

/** Returns what sums are asked for by, in the order of `groupings`; nothing for movements, which a server does not tell. */
function readGroupings({ target }: DashboardPorts, texts: readonly string[]): readonly By[] {
  // The page joins the values of a form's field by line breaks.
  const asked = texts.flatMap((text) => text.split(/[,\n]/))
  const by = groupings.filter((name) => asked.includes(name))
  return by.length === 0 && target.isServer ? ['day'] : by
}

/** Days in UTC, both included. */
type Days = Readonly<Record<'from' | 'to', string>>

/** Returns the days of a form, by default the last ones: of real time for the ledger of this machine, else by the engine's clock. */
async function readDays(ports: DashboardPorts, by: readonly By[], { from, to }: Partial<Days>) {
  const now = isOfMachine(ports, by)
    ? ports.now()
    : ((await (await ports.admin())?.clock())?.now ?? ports.now())
  return {
    from: isDay(from) ? from : isoDay(now - (usualDays - 1) * dayMs),
    to: isDay(to) ? to : isoDay(now),
  }
}

const isDay = (text: string | undefined): text is string => dayOf(text ?? '') !== undefined

const rangeOf = ({ from, to }: Days) => ({ from: Date.parse(from), to: Date.parse(to) + dayMs })

/** Returns what is exported: the same records as `engine ledger` and `ledger` print. */
async function recordsOf(ports: DashboardPorts, by: readonly By[], fields: Readonly<Record<string, string>>) {
  // All movements are exported unless days are chosen.
  if (by.length === 0) {
    const [from, to] = [dayOf(fields.from ?? ''), dayOf(fields.to ?? '')]
    const admin = await engineOf(ports)
    return () => admin.ledger(withoutUndefined({ from, to: to === undefined ? to : to + dayMs }))
  }
  const sums = await readSums(ports, by, await readDays(ports, by, fields), onlyOf(fields))
  return async function* () {
    for (const sum of sums) yield { ...sum }
  }
}

/** A sum, with the number of calls where runs are told apart, else of movements. */
interface Sum extends Partial<Readonly<Record<By, string | null>>> {
  readonly credits: number
  readonly calls?: number
  readonly movements?: number
}

const countOf = ({ calls, movements = 0 }: Sum): number => calls ?? movements

/** Whose sums are wanted, and of which operation; empty for all. */
type Only = Readonly<Record<'member' | 'operation', string>>

const onlyOf = ({ member = '', operation = '' }: Partial<Only>): Only => ({ member, operation })

async function readSums(
  ports: DashboardPorts,
  by: readonly By[],
  days: Days,
  { member, operation }: Only,
): Promise<readonly Sum[]> {
  const isWanted = (one: { readonly member: string | null; readonly operation: string }) =>
    (member === '' || one.member === member) && (operation === '' || one.operation === operation)
  if (isOfMachine(ports, by)) return sumSpent((await ports.spent(days)).filter(isWanted), by)
  const only = withoutUndefined({ member: member || undefined, operation: operation || undefined })
  return await (await engineOf(ports)).consumption({ ...rangeOf(days), ...only }, by as readonly Grouping[])
}

/** Returns who spent something on some days, or on which operations. */
async function namesOf(ports: DashboardPorts, by: readonly By[], days: Days, name: keyof Only) {
  const of = isOfMachine(ports, by) ? (['run', name] as const) : ([name] as const)
  const sums = await readSums(ports, of, days, onlyOf({}))
  return [...new Set(sums.flatMap((sum) => sum[name] ?? []))].toSorted()
}

/** Most sums that are shown; an export has all. */
const maxSums = 400

async function sumsOf({ ports, query }: Page, by: readonly By[], days: Days): Promise<Html> {
  const only = onlyOf(Object.fromEntries(query))
  const all = await readSums(ports, by, days, only)
  const [members, operations] = await Promise.all(
    (['member', 'operation'] as const).map((name) => namesOf(ports, by, days, name)),
  )
  // The newest days and runs are the last.
  const sums = by[0] === 'day' || by[0] === 'run' ? [...all].reverse() : all
  const title = by.join(', ')
  const total = (countIn: (sum: Sum) => number) =>
    formatNumber(all.reduce((sum, one) => sum + countIn(one), 0))
  const foot = [
    ...by.map((_, at) => (at === 0 ? 'Total' : '')),
    total(({ credits }) => credits),
    total(countOf),
  ]
  return (
    <Section title={`Credits consumed by ${title}`}>
      <Form label="Show">
        {groupings.map((name) => (
          <Input
            label={`Sum by ${name}`}
            type="checkbox"
            name="by"
            value={name}
            checked={by.includes(name)}
          />
        ))}
        <Input label="From (UTC)" type="date" name="from" value={days.from} />
        <Input label="To (UTC, included)" type="date" name="to" value={days.to} />
        <Select
          label="Only this member"
          name="member"
          values={members ?? []}
          chosen={only.member}
          all="all members"
        />
        <Select
          label="Only this command"
          name="operation"
          values={operations ?? []}
          chosen={only.operation}
          all="all commands"
          textOf={commandOf}
        />
      </Form>
      <Table
        label={`Credits by ${title}`}
        columns={[
          ...by.map((name) => ({ title: titles[name], cell: (sum: Sum) => nameOf(name, sum[name]) })),
          'credits',
          {
            title: isOfMachine(ports, by) ? 'Calls' : 'Movements',
            number: true,
            cell: (sum) => formatNumber(countOf(sum)),
          },
        ]}
        rows={sums.slice(0, maxSums)}
        keyOf={(sum) => by.map((name) => sum[name] ?? 'none').join(' ')}
        foot={all.length > 1 ? foot : undefined}
      >
        <Empty command="accounts enrich --domain acme-robotics.example">
          Nothing was spent on these days. Choose others, or try:{' '}
        </Empty>
      </Table>
      {isOfMachine(ports, by) && (
        <Empty command="ledger check">
          This is what this machine spent, with the members of its proxies. To compare it with the target:{' '}
        </Empty>
      )}
      {sums.length > maxSums && <Empty>These are the newest {maxSums}; an export has all.</Empty>}
    </Section>
  )
}

const titles = {
  day: 'Day (UTC)',
  operation: 'Command',
  member: 'Member',
  target: 'Target',
  run: 'Run of this machine',
} as const

function nameOf(by: By, key: string | null | undefined): Html {
  if (by === 'run') return !key ? 'single calls' : <a href={pathOf('runs', { id: key })}>{key}</a>
  if (!key) return none
  return by === 'target' ? shownTarget(key) : commandOf(key)
}

async function movementsOf({ ports, query }: Page): Promise<Html> {
  const given = Number(query.get('before') ?? Number.NaN)
  const before = Number.isSafeInteger(given) && given > 0 ? given : undefined
  const movements = await (await engineOf(ports)).movementsBefore(before, pageSize)
  const last = movements.at(-1)?.seq ?? 1
  if (movements.length === 0)
    return (
      <Section title="Movements">
        <Empty command="engine credits add 500">There are no entries here. Add credits: </Empty>
      </Section>
    )
  return (
    <Section title="Movements, newest first">
      {movementTable(movements)}
      <nav class="pages" aria-label="Pages">
        {before !== undefined && <a href={pathOf('ledger')}>Newest</a>}
        {last > 1 && <a href={pathOf('ledger', { before: last })}>Older</a>}
      </nav>
    </Section>
  )
}

const movementTable = (movements: readonly MovementRecord[]) => (
  <Table
    label="Movements"
    columns={[
      'seq',
      'created_at',
      { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
      'amount',
      { title: 'Change', number: true, cell: ({ change }) => formatChange(change) },
      'credits',
      'held',
      'operation',
      'member',
    ]}
    rows={movements}
    keyOf={({ seq }) => String(seq)}
  />
)

const formatChange = (change: number): string =>
  change === 0 ? '0' : `${change < 0 ? '−' : '+'}${formatNumber(Math.abs(change))}`

/** Saves what the commands print: movements oldest first, or sums. Cells of a CSV file hold no formulas. */
const exportForm = (by: readonly By[], days: Days, only: Only) => (
  <Section title="Export">
    <Form
      action="ledger/export"
      fields={by.length > 0 ? { by: by.join(','), ...only } : {}}
      label={by.length === 0 ? 'Export movements' : `Export sums by ${by.join(', ')}`}
    >
      <Input label="From (UTC)" type="date" name="from" value={by.length > 0 ? days.from : undefined} />
      <Input label="To (UTC, included)" type="date" name="to" value={by.length > 0 ? days.to : undefined} />
      <Select
        label="Format"
        name="format"
        values={['csv', 'ndjson']}
        chosen="csv"
        textOf={(format) => format.toUpperCase()}
      />
    </Form>
  </Section>
)
