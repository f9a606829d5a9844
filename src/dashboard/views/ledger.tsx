import { commandOf } from '../../api/operations/table.js'
import { dayOf } from '../../api/values/dates.js'
import type { Grouping, MovementRecord } from '../../engine/admin/report.js'
import { sumSpent } from '../../runs/journal/spending.js'
import { Empty, formatNumber, Input, Section, Table, Tabs, Time } from '../page/elements.js'
import { pathOf } from '../page/layout.js'
import type { DashboardPorts } from '../page/ports.js'
import type { Html, Page, View } from '../page/view.js'

const dayMs = 86_400_000
/** Days that are summed unless others are chosen. */
const usualDays = 30
const pageSize = 50

/** What movements are summed by. Runs are those of this machine, and their days are of real time. */
const groupings = { day: 'day', operation: 'operation', member: 'member', run: 'run' } as const
type By = keyof typeof groupings

/** Movements of credits, and what was consumed by day, operation, member and run. */
export const ledger: View = {
  name: 'ledger',
  title: 'Ledger',
  render: async (page) => {
    const by = readGrouping(page.query.get('by'))
    const days = await readDays(page.ports, by, Object.fromEntries(page.query))
    return (
      <>
        <Tabs
          label="Parts of the ledger"
          tabs={[
            { title: 'Movements', path: pathOf('ledger'), isCurrent: by === undefined },
            ...Object.keys(groupings).map((name) => ({
              title: `By ${name}`,
              path: pathOf('ledger', {
                by: name,
                from: page.query.get('from') ?? '',
                to: page.query.get('to') ?? '',
              }),
              isCurrent: by === name,
            })),
          ]}
        />
        {by === undefined ? await movementsOf(page) : await sumsOf(page, by, days)}
        {!page.isReadOnly && <Export by={by} days={days} />}
      </>
    )
  },
  actions: {
    export: async (ports, fields) => {
      const by = readGrouping(fields.by)
      const format = fields.format === 'ndjson' ? 'ndjson' : 'csv'
      const text = ports.render(await recordsOf(ports, by, fields), format)
      return new Response(ReadableStream.from(text).pipeThrough(new TextEncoderStream()), {
        headers: {
          'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
          'content-disposition': `attachment; filename="${by ? `ledger-by-${by}` : 'movements'}.${format}"`,
        },
      })
    },
  },
}

const readGrouping = (text: string | null | undefined): By | undefined =>
  text && Object.hasOwn(groupings, text) ? (text as By) : undefined

/** Days in UTC, both included. */
interface Days {
  readonly from: string
  readonly to: string
}

/** Returns the days of a form, by default the last ones: of real time for runs, else by the engine's clock. */
async function readDays(
  { admin }: DashboardPorts,
  by: By | undefined,
  { from, to }: Partial<Days>,
): Promise<Days> {
  const clock = await admin.clock()
  const now = by === 'run' ? clock.now - clock.offsetMs : clock.now
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  return { from: isDay(from) ? from : day(now - (usualDays - 1) * dayMs), to: isDay(to) ? to : day(now) }
}

const isDay = (text: string | undefined): text is string => dayOf(text ?? '') !== undefined

const rangeOf = ({ from, to }: Days) => ({ from: Date.parse(from), to: Date.parse(to) + dayMs })

/** Returns what is exported: the same records as `engine ledger` and `ledger` print. */
async function recordsOf(
  ports: DashboardPorts,
  by: By | undefined,
  fields: Readonly<Record<string, string>>,
) {
  // All movements are exported unless days are chosen.
  if (by === undefined) {
    const [from, to] = [dayOf(fields.from ?? ''), dayOf(fields.to ?? '')]
    return () =>
      ports.admin.ledger({
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to: to + dayMs }),
      })
  }
  const sums = await readSums(ports, by, await readDays(ports, by, fields))
  return async function* () {
    for (const { key, count, credits, doubted } of sums)
      yield by === 'run'
        ? { run: key, calls: count, credits, doubted }
        : { [by]: key, credits, movements: count }
  }
}

/** A sum; `count` is that of calls for runs, else of movements. */
interface Sum {
  readonly key: string | null
  readonly credits: number
  readonly count: number
  /** Number of answers in doubt; of runs only. */
  readonly doubted?: number
}

async function readSums(ports: DashboardPorts, by: By, days: Days): Promise<readonly Sum[]> {
  if (by === 'run')
    return sumSpent(await ports.spent(days), by).map(({ calls, ...sum }) => ({ ...sum, count: calls }))
  const sums = await ports.admin.consumption(rangeOf(days), by satisfies Grouping)
  return sums.map(({ by: key, credits, movements }) => ({ key, credits, count: movements }))
}

/** Most sums that are shown; an export has all. */
const mostSums = 400

async function sumsOf({ ports }: Page, by: By, days: Days): Promise<Html> {
  const all = await readSums(ports, by, days)
  // The newest days and runs are the last.
  const sums = by === 'day' || by === 'run' ? [...all].reverse() : all
  return (
    <Section title={`Credits consumed by ${by}`}>
      <form class="bar">
        <input type="hidden" name="by" value={by} />
        <Input label="From (UTC)" type="date" name="from" value={days.from} />
        <Input label="To (UTC, included)" type="date" name="to" value={days.to} />
        <button type="submit">Show</button>
      </form>
      {sums.length === 0 ? (
        <Empty
          command={
            by === 'run'
              ? 'accounts enrich --csv companies.csv'
              : 'accounts enrich --domain acme-robotics.example'
          }
        >
          Nothing was spent on these days. Choose others, or try:{' '}
        </Empty>
      ) : (
        <Table
          label={`Credits by ${by}`}
          columns={[
            {
              title: titles[by],
              cell: ({ key }) => nameOf(by, key),
            },
            { title: 'Credits', number: true, cell: ({ credits }) => formatNumber(credits) },
            {
              title: by === 'run' ? 'Calls' : 'Movements',
              number: true,
              cell: ({ count }) => formatNumber(count),
            },
          ]}
          rows={sums.slice(0, mostSums)}
          keyOf={({ key }) => key ?? 'single'}
        />
      )}
      {sums.length > mostSums && <Empty>These are the newest {mostSums}; an export has all.</Empty>}
    </Section>
  )
}

const titles = {
  day: 'Day (UTC)',
  operation: 'Command',
  member: 'Member',
  run: 'Run of this machine',
} as const

function nameOf(by: By, key: string | null): Html {
  if (by === 'run') return key === null ? 'single calls' : <a href={pathOf('runs', { id: key })}>{key}</a>
  return key === null || key === '' ? <span class="none">none</span> : commandOf(key)
}

async function movementsOf({ ports, query }: Page): Promise<Html> {
  const given = Number(query.get('before') ?? Number.NaN)
  const before = Number.isSafeInteger(given) && given > 0 ? given : undefined
  const movements = await ports.admin.movementsBefore(before, pageSize)
  const last = movements.at(-1)?.seq ?? 1
  if (movements.length === 0)
    return (
      <Section title="Movements">
        <Empty command="engine credits add 500">There are no entries here. Add credits: </Empty>
      </Section>
    )
  return (
    <Section title="Movements, newest first">
      <Movements movements={movements} />
      <nav class="pages" aria-label="Pages">
        {before !== undefined && <a href={pathOf('ledger')}>Newest</a>}
        {last > 1 && <a href={pathOf('ledger', { before: last })}>Older</a>}
      </nav>
    </Section>
  )
}

const Movements = ({ movements }: { readonly movements: readonly MovementRecord[] }) => (
  <Table
    label="Movements"
    columns={[
      { title: 'No.', number: true, cell: ({ seq }) => formatNumber(seq) },
      { title: 'Time', cell: (one) => <Time at={Date.parse(one.created_at)} /> },
      { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
      { title: 'Amount', number: true, cell: ({ amount }) => formatNumber(amount) },
      { title: 'Change', number: true, cell: ({ change }) => formatChange(change) },
      { title: 'Balance', number: true, cell: ({ credits }) => formatNumber(credits) },
      { title: 'Held', number: true, cell: ({ held }) => formatNumber(held) },
      {
        title: 'Command',
        cell: ({ operation }) => (operation === null ? <span class="none">–</span> : commandOf(operation)),
      },
      { title: 'Member', cell: ({ member }) => member ?? <span class="none">–</span> },
    ]}
    rows={movements}
    keyOf={({ seq }) => String(seq)}
  />
)

const formatChange = (change: number): string =>
  change === 0 ? '0' : `${change < 0 ? '−' : '+'}${formatNumber(Math.abs(change))}`

/** Saves what the commands print: movements oldest first, or sums. Cells of a CSV file hold no formulas. */
const Export = ({ by, days }: { readonly by: By | undefined; readonly days: Days }) => (
  <Section title="Export">
    <form data-action="ledger/export" class="bar">
      {by !== undefined && <input type="hidden" name="by" value={by} />}
      <Input label="From (UTC)" type="date" name="from" value={by && days.from} />
      <Input label="To (UTC, included)" type="date" name="to" value={by && days.to} />
      <label>
        Format
        <select name="format">
          <option value="csv">CSV</option>
          <option value="ndjson">NDJSON</option>
        </select>
      </label>
      <button type="submit">{by === undefined ? 'Export movements' : `Export sums by ${by}`}</button>
    </form>
  </Section>
)
