import { isMeteredPlan, type QuotaName, quotaLabel } from '../../api/operations/plans.js'
import { commandOf } from '../../api/operations/table.js'
import { dayMs } from '../../api/values/dates.js'
import type { LimitsReport } from '../../engine/admin/admin.js'
import type { Consumption } from '../../engine/credits/ledger.js'
import { describeFaults } from '../../engine/tables/faults.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import { Bar, count, Empty, Facts, formatNumber, pathOf, Section, Table, Time } from '../page/elements.js'
import type { DashboardPorts, Html, ListedRun, View } from '../page/view.js'

const chartDays = 30

export const overview: View = {
  name: '',
  title: 'Overview',
  render: async ({ ports }) => {
    const { admin } = ports
    const { now } = await admin.clock()
    const from = Math.floor(now / dayMs) * dayMs - (chartDays - 1) * dayMs
    const [limits, status, days, operations] = await Promise.all([
      ports.limits(),
      admin.status(),
      admin.consumption({ from }, ['day']),
      admin.consumption({ from }, ['operation']),
    ])
    const source = await ports.source()
    const work = (await admin.jobs(20, 'running')).concat(await admin.jobs(20, 'queued'))
    // A run that was killed is told as stopped.
    const begun = await ports.runs.list({ status: 'running', limit: 20 }, false)
    const runs = begun.filter(({ status: state }) => state === 'running')
    const stopped = begun
      .filter(({ status: state }) => state === 'stopped')
      .concat(await ports.runs.list({ status: 'stopped', limit: 5 }, false))
    return (
      <div class="grid">
        <Section title="Credits">{balanceOf(limits, source?.text)}</Section>
        <Section title="Needs attention">{await attention(ports, limits, status, stopped)}</Section>
        <Section title="Credits by day" wide>
          {days.length === 0 ? (
            <Empty command="accounts enrich --domain acme-robotics.example">
              Nothing was spent in the last 30 days. Try:{' '}
            </Empty>
          ) : (
            dayChart(days, from)
          )}
        </Section>
        <Section title="Credits by operation">
          <Table
            label="Credits by operation"
            columns={['operation', 'credits']}
            rows={[...operations].sort((one, other) => other.credits - one.credits)}
          >
            <Empty>The operations that cost credits appear here.</Empty>
          </Table>
        </Section>
        <Section title="Running work">{runningTable(work, runs)}</Section>
        <Section title="Quotas" wide>
          {isMeteredPlan(limits.plan) ? (
            quotaTable(limits.quotas)
          ) : (
            <Empty>Your own data has no quotas.</Empty>
          )}
        </Section>
        <Section title="Rate limits" wide>
          {windowTable(limits.windows)}
        </Section>
      </div>
    )
  },
}

/** What is under way: jobs of the engine and batches of this machine. */
function runningTable(work: readonly AsyncJob[], runs: readonly ListedRun[]) {
  const rows = [
    ...runs.map(({ id, file, operation, status: state, done, rows: of }) => {
      const name = file.split(/[\\/]/).at(-1) ?? id
      return { path: pathOf('runs', { id }), name, operation, state, done, of }
    }),
    ...work.map(({ id, name, operation, state, done, expected: of }) => {
      return { path: pathOf('jobs', { id }), name: name || id, operation, state, done, of }
    }),
  ]
  return (
    <Table
      label="Running work"
      columns={[
        { title: 'Run or job', cell: ({ path, name }) => <a href={path}>{name}</a> },
        'operation',
        'state',
        'done',
        'of',
      ]}
      rows={rows}
    >
      <Empty>No run or job is under way.</Empty>
    </Table>
  )
}

const balanceOf = ({ plan, credits, weekly }: LimitsReport, source: string | undefined) => (
  <>
    <p class="figure">{isMeteredPlan(plan) ? formatNumber(credits.enrichment) : 'none needed'}</p>
    <Facts
      facts={{
        'Answers from': source,
        Held: count(credits.held, 'credit'),
        Plan: plan,
        'Next grant': (
          <>
            {formatNumber(credits.nextAllocation.credits)} at <Time at={credits.nextAllocation.at} />
          </>
        ),
        'This week': weekly ? (
          <>
            {formatNumber(weekly.left)} left of {formatNumber(weekly.limit)}; resets at{' '}
            <Time at={weekly.resetsAt} />
          </>
        ) : undefined,
      }}
    />
  </>
)

const quotaTable = (quotas: LimitsReport['quotas']) => (
  <Table
    label="Quotas"
    columns={[
      'quota',
      {
        title: 'In use',
        cell: ({ quota, used, limit }) => <Bar label={quota} value={used} max={limit} />,
      },
      'used',
      'remaining',
      'limit',
      'resetsAt',
    ]}
    rows={Object.entries(quotas).map(([name, state]) => ({ quota: quotaLabel(name as QuotaName), ...state }))}
  />
)

/** Windows that requests have opened; the others are full. */
const windowTable = (windows: LimitsReport['windows']) => (
  <Table
    label="Rate limits"
    columns={[
      { title: 'Requests of', cell: ({ operation: own, group }) => commandOf(own ?? group ?? '') },
      'per',
      'used',
      'remaining',
      'limit',
      'resetsAt',
    ]}
    rows={windows.filter(({ used }) => used > 0)}
  >
    <Empty>No rate limit is in use.</Empty>
  </Table>
)

type Status = Awaited<ReturnType<DashboardPorts['admin']['status']>>

/** The share of a quota that is worth a notice while it is left. */
const little = 0.1

/** The operation of the record of a flow. */
const flow = 'flow'

const nameOf = (file: string) => file.split(/[\\/]/).at(-1)

/** Returns runs without those of the steps of a flow that is among them: their file is that of the flow. */
function withoutSteps(runs: readonly ListedRun[]): readonly ListedRun[] {
  const flows = new Set(runs.filter(({ operation }) => operation === flow).map(({ file }) => file))
  return runs.filter(({ operation, file }) => operation === flow || !flows.has(file))
}

async function attention(
  { admin }: DashboardPorts,
  { quotas }: LimitsReport,
  status: Status,
  stopped: readonly ListedRun[],
): Promise<Html> {
  const failedJobs = await admin.jobs(5, 'failed')
  // They may have been removed since the status was read.
  const faults = status.faults > 0 ? await admin.faults() : []
  const notes: Html[] = [
    isMeteredPlan(status.plan) && status.credits.enrichment === 0 && (
      <>
        No credits are left. Add some: <code>prospect engine credits add 1000</code>
      </>
    ),
    ...Object.entries(quotas)
      .filter(([, { remaining, limit }]) => remaining <= limit * little)
      .map(([name, { remaining, limit }]) => (
        <>
          {quotaLabel(name as QuotaName)}: {formatNumber(remaining)} of {formatNumber(limit)} left.
        </>
      )),
    ...withoutSteps(stopped).map(({ id, operation: what, file, done, rows }) =>
      what === flow ? (
        <>
          <a href={pathOf('runs', { id })}>The flow {nameOf(file)}</a> stopped.
        </>
      ) : (
        <>
          <a href={pathOf('runs', { id })}>The run over {nameOf(file)}</a> stopped after {formatNumber(done)}{' '}
          of {formatNumber(rows)} rows.
        </>
      ),
    ),
    ...failedJobs.map(({ id, operation: what, error }) => (
      <>
        <a href={pathOf('jobs', { id })}>A job of {commandOf(what)} failed</a>:{' '}
        {error ?? 'no reason is known'}.
      </>
    )),
    status.deliveries.failed > 0 && (
      <a href={pathOf('jobs', { deliveries: 'failed' })}>
        {count(status.deliveries.failed, 'delivery')} failed.
      </a>
    ),
    status.clock.frozen && <>The engine clock is frozen.</>,
    faults.length > 0 && (
      <>
        {describeFaults(faults)} To remove them: <code>prospect engine faults clear</code>
      </>
    ),
  ].filter((note) => note !== false)
  if (notes.length === 0)
    return (
      <Empty>
        Nothing: no run has stopped, no job or delivery has failed, and no quota is nearly used up.
      </Empty>
    )
  return (
    <ul class="notes">
      {notes.map((note) => (
        <li>{note}</li>
      ))}
    </ul>
  )
}

const height = 120
const step = 14

/** One bar for each day, drawn without a library: SVG with attributes only, which the security policy permits. */
function dayChart(sums: readonly Consumption[], from: number) {
  const known = new Map(sums.map((sum) => [sum.day, sum.credits]))
  const days = Array.from({ length: chartDays }, (_, at) => {
    const by = new Date(from + at * dayMs).toISOString().slice(0, 10)
    return { by, credits: known.get(by) ?? 0 }
  })
  const most = Math.max(1, ...days.map(({ credits }) => credits))
  const width = days.length * step
  const total = days.reduce((sum, { credits }) => sum + credits, 0)
  const label = `Credits by day: ${count(total, 'credit')} in ${count(days.length, 'day')}, at most ${formatNumber(most)} a day`
  return (
    <figure>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        preserveAspectRatio="none"
      >
        {days.map(({ by, credits }, at) => {
          const tall = credits === 0 ? 1 : Math.max(2, (credits / most) * (height - 4))
          return (
            <rect
              class={credits === 0 ? 'zero' : ''}
              x={at * step + 2}
              y={height - tall}
              width={step - 4}
              height={tall}
              rx={1}
            >
              <title>
                {by}: {count(credits, 'credit')}
              </title>
            </rect>
          )
        })}
      </svg>
      <figcaption>
        <span>{days[0]?.by}</span>
        <span>
          {count(total, 'credit')}, at most {formatNumber(most)} a day
        </span>
        <span>{days.at(-1)?.by}</span>
      </figcaption>
    </figure>
  )
}
