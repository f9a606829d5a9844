import { isMeteredPlan, type QuotaName, quotaLabel } from '../../api/operations/plans.js'
import { commandOf } from '../../api/operations/table.js'
import { dayMs, isoDay } from '../../api/values/dates.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Consumption } from '../../engine/credits/ledger.js'
import { describeFaults } from '../../engine/tables/faults.js'
import type { AsyncJob } from '../../engine/tables/jobs.js'
import { sumSpent } from '../../runs/journal/spending.js'
import { isServerName } from '../../runs/target-name.js'
import {
  Bar,
  count,
  Empty,
  Facts,
  formatNumber,
  LinkLine,
  none,
  pathOf,
  Section,
  Table,
  Time,
} from '../page/elements.js'
import type { DashboardPorts, Html, ListedRun, Problem, ShownLimits, View } from '../page/view.js'
import { little, memberTable, scarceWeeks, type Week, weeksOf } from '../page/weeks.js'

const chartDays = 30

export const overview: View = {
  name: '',
  title: 'Overview',
  render: async ({ ports }) => {
    const { target } = ports
    const admin = await ports.admin()
    // What an engine of this machine did is no part of what happens at a server.
    const engine = target.isServer ? undefined : admin
    const from = await firstDay(ports, engine)
    // First, as a server takes its time, and the rest is to be no older.
    const limits = await ports.limits()
    const onRecord = target.isServer ? await ports.spent({ from: isoDay(from), to: isoDay(ports.now()) }) : []
    const [status, days, operations, weeks] = await Promise.all([
      engine?.status(),
      spentBy(ports, engine, onRecord, from, 'day'),
      spentBy(ports, engine, onRecord, from, 'operation'),
      admin ? weeksOf(ports, admin) : [],
    ])
    const work = engine ? (await engine.jobs(20, 'running')).concat(await engine.jobs(20, 'queued')) : []
    // A run that was killed is told as stopped.
    const begun = await ports.runs.list({ status: 'running', limit: 20 }, false)
    const runs = begun.filter(({ status: state }) => state === 'running')
    const stopped = begun
      .filter(({ status: state }) => state === 'stopped')
      .concat(await ports.runs.list({ status: 'stopped', limit: 5 }, false))
    const known = 'error' in limits ? undefined : limits
    const source = await ports.source(known?.member)
    return (
      <div class="grid">
        <Section title="Credits">
          {'error' in limits ? problemOf(limits) : balanceOf(limits, source?.text)}
        </Section>
        <Section title="Needs attention">
          {await attention(ports, { limits, engine, status, stopped, weeks })}
        </Section>
        {target.isServer && admin && (
          <Section title="Members this week" wide>
            {memberTable(ports, weeks)}
          </Section>
        )}
        <Section title="Credits by day" wide>
          {days.length === 0 ? (
            <Empty command="accounts enrich --domain acme-robotics.example">
              {target.isServer
                ? 'This machine spent nothing there in the last 30 days. Try: '
                : 'Nothing was spent in the last 30 days. Try: '}
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
        {!target.isServer && (await spentAtServers(ports))}
        {known && (
          <>
            <Section title="Quotas" wide>
              {isMetered(known.plan) ? quotaTable(known.quotas) : <Empty>Your own data has no quotas.</Empty>}
            </Section>
            <Section title="Rate limits" wide>
              {windowTable(known.windows)}
            </Section>
          </>
        )}
      </div>
    )
  },
}

/** Returns when the first day of the chart begins: by the engine's clock, at a server in real time. */
async function firstDay(ports: DashboardPorts, engine: Admin | undefined): Promise<number> {
  const now = engine ? (await engine.clock()).now : ports.now()
  return Math.floor(now / dayMs) * dayMs - (chartDays - 1) * dayMs
}

/** Sums what was spent since a day: the movements of an engine, else what this machine has on record at the server. */
async function spentBy(
  ports: DashboardPorts,
  engine: Admin | undefined,
  onRecord: Awaited<ReturnType<DashboardPorts['spent']>>,
  from: number,
  by: 'day' | 'operation',
) {
  if (engine) return engine.consumption({ from }, [by])
  const { target } = ports
  return sumSpent(
    onRecord.filter((one) => one.target === target.name && one.credits > 0),
    [by],
  ) as readonly Pick<Consumption, 'credits' | 'day' | 'operation'>[]
}

/** What this machine and the members of its proxies spent elsewhere, which the balance above says nothing of. */
async function spentAtServers(ports: DashboardPorts): Promise<Html> {
  const all = await ports.spent({
    from: isoDay(ports.now() - (chartDays - 1) * dayMs),
    to: isoDay(ports.now()),
  })
  const there = all.filter(({ target, credits }) => isServerName(target) && credits > 0)
  if (there.length === 0) return ''
  return (
    <Section title="Spent at servers in 30 days" wide>
      <Table
        label="Spent at servers"
        columns={[
          { title: 'Server', cell: ({ target }) => target ?? none },
          'member',
          'credits',
          { title: 'Calls', number: true, cell: ({ calls }) => formatNumber(calls) },
        ]}
        rows={sumSpent(there, ['target', 'member'])}
      />
      <LinkLine path={pathOf('ledger', { by: 'target' })}>The ledger by target</LinkLine>
      <Empty command={`dashboard --base-url ${there[0]?.target}`}>To see what is left there: </Empty>
    </Section>
  )
}

const problemOf = ({ error, hint }: Problem) => (
  <>
    <p class="refusal">{error}</p>
    {hint !== '' && <p class="empty">{hint}</p>}
  </>
)

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

const isMetered = (plan: string | null): boolean => plan === null || isMeteredPlan(plan)

const figureOf = ({ plan, credits: { enrichment } }: ShownLimits): string => {
  if (!isMetered(plan)) return 'none needed'
  return enrichment === null ? 'not known' : formatNumber(enrichment)
}

const balanceOf = (limits: ShownLimits, source: string | undefined) => (
  <>
    <p class="figure">{figureOf(limits)}</p>
    <Facts facts={{ 'Answers from': source, ...balanceFacts(limits) }} />
  </>
)

const balanceFacts = ({ plan, credits, weekly }: ShownLimits) => ({
  Held: credits.held === null || !isMetered(plan) ? undefined : count(credits.held, 'credit'),
  Plan: plan ?? undefined,
  'Next grant':
    credits.nextAllocation && isMetered(plan) ? (
      <>
        {formatNumber(credits.nextAllocation.credits)} at <Time at={credits.nextAllocation.at} />
      </>
    ) : undefined,
  'This week': weekly ? (
    <>
      {formatNumber(weekly.left)} left of {formatNumber(weekly.limit)}; resets at{' '}
      <Time at={weekly.resetsAt} />
    </>
  ) : undefined,
})

const quotaTable = (quotas: ShownLimits['quotas']) => (
  <Table
    label="Quotas"
    columns={[
      'quota',
      {
        title: 'In use',
        cell: ({ quota, used, limit }) =>
          used === null || limit === null ? none : <Bar label={quota} value={used} max={limit} />,
      },
      'used',
      'remaining',
      'limit',
      'resetsAt',
    ]}
    rows={Object.entries(quotas).map(([name, state]) => ({ quota: quotaLabel(name as QuotaName), ...state }))}
  >
    <Empty>The target does not say its quotas.</Empty>
  </Table>
)

/** Windows that requests have opened; the others are full. */
const windowTable = (windows: ShownLimits['windows']) => (
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

/** The operation of the record of a flow. */
const flow = 'flow'

const nameOf = (file: string) => file.split(/[\\/]/).at(-1)

/** Returns runs without those of the steps of a flow that is among them: their file is that of the flow. */
function withoutSteps(runs: readonly ListedRun[]): readonly ListedRun[] {
  const flows = new Set(runs.filter(({ operation }) => operation === flow).map(({ file }) => file))
  return runs.filter(({ operation, file }) => operation === flow || !flows.has(file))
}

interface Looked {
  readonly limits: ShownLimits | Problem
  readonly engine: Admin | undefined
  readonly status: Awaited<ReturnType<Admin['status']>> | undefined
  readonly stopped: readonly ListedRun[]
  readonly weeks: readonly Week[]
}

/** What is left at the target, where that is little. */
function scarcities({ target }: DashboardPorts, limits: ShownLimits | Problem): readonly (Html | false)[] {
  if ('error' in limits) return [limits.error]
  const { plan, credits, quotas, weekly } = limits
  return [
    isMetered(plan) && credits.enrichment !== null && credits.enrichment <= 0 && (
      <>
        No credits are left
        {target.isServer ? ` at ${target.shown}. Buy some from your vendor.` : '. Add some: '}
        {!target.isServer && <code>prospect engine credits add 1000</code>}
      </>
    ),
    !!weekly && weekly.left <= weekly.limit * little && (
      <>
        {weekly.left === 0 ? 'Your week is used up' : `${formatNumber(weekly.left)} of your week are left`}:
        the limit is {count(weekly.limit, 'credit')}, until <Time at={weekly.resetsAt} />.
      </>
    ),
    ...Object.entries(quotas).map(
      ([name, { remaining, limit }]) =>
        remaining !== null &&
        limit !== null &&
        remaining <= limit * little && (
          <>
            {quotaLabel(name as QuotaName)}: {formatNumber(remaining)} of {formatNumber(limit)} left.
          </>
        ),
    ),
  ]
}

async function attention(
  ports: DashboardPorts,
  { limits, engine, status, stopped, weeks }: Looked,
): Promise<Html> {
  const failedJobs = (await engine?.jobs(5, 'failed')) ?? []
  // They may have been removed since the status was read.
  const faults = engine && status && status.faults > 0 ? await engine.faults() : []
  const notes: Html[] = [
    ...scarcities(ports, limits),
    ...scarceWeeks(ports, weeks),
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
    status !== undefined && status.deliveries.failed > 0 && (
      <a href={pathOf('jobs', { deliveries: 'failed' })}>
        {count(status.deliveries.failed, 'delivery')} failed.
      </a>
    ),
    status?.clock.frozen === true && <>The engine clock is frozen.</>,
    faults.length > 0 && (
      <>
        {describeFaults(faults)} To remove them: <code>prospect engine faults clear</code>
      </>
    ),
  ].filter((note) => note !== false)
  if (notes.length === 0)
    return (
      <Empty>
        {engine
          ? 'Nothing: no run has stopped, no job or delivery has failed, and no quota or week is nearly used up.'
          : 'Nothing: no run has stopped, credits are left, and no quota or week is nearly used up.'}
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
function dayChart(sums: readonly Pick<Consumption, 'day' | 'credits'>[], from: number) {
  const known = new Map(sums.map((sum) => [sum.day, sum.credits]))
  const days = Array.from({ length: chartDays }, (_, at) => {
    const by = isoDay(from + at * dayMs)
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
