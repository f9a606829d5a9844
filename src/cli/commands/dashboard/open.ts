import { Option } from 'commander'
import type { Caller } from '../../../api/calls/caller.js'
import type { DashboardPorts } from '../../../dashboard/page/ports.js'
import type { Dashboard } from '../../../dashboard/server.js'
import type { Admin } from '../../../engine/admin/admin.js'
import { readSpentThisWeek } from '../../../engine/credits/weekly-limit.js'
import type { Consumption } from '../../../engine/tables/movements.js'
import type { Context } from '../../context/context.js'
import { reportOf, UsageError } from '../../context/errors.js'
import { openAdmin } from '../../context/open-databases.js'
import { notifyBug } from '../../output/report-error.js'
import { openEnginePorts } from './engine.js'
import { openInboxPort } from './inbox.js'
import { openRunsPort } from './runs.js'

/** How a dashboard is served. */
export interface DashboardChoices {
  readonly isReadOnly: boolean
  /** Returns the origin at which it is served. */
  readonly origin: () => string
  /** Returns the base address at which the API is served. */
  readonly apiUrl: () => string
  readonly source: DashboardPorts['source']
}

/** Options of a command that serves the dashboard. */
export interface ExposureOptions {
  readonly public?: boolean
  readonly readOnly?: boolean
  readonly dashboardPublic?: boolean
}

/** Creates the options that say what the dashboard permits, and to whom. */
export const exposureOptions = (): Option[] => [
  new Option('--read-only', 'a read-only dashboard, without buttons'),
  new Option('--dashboard-public', 'allow a read-only dashboard with --public'),
]

/** Returns whether the dashboard refuses every action. Throws a `UsageError` when it may not be served at all. */
export function readExposure({ public: isPublic, readOnly, dashboardPublic }: ExposureOptions): boolean {
  if (isPublic && !dashboardPublic)
    throw new UsageError(
      'With --public, other machines could reach the dashboard.',
      'Add --dashboard-public for a read-only one, or leave out --public.',
    )
  return readOnly === true || isPublic === true
}

/** Opens the dashboard of the workspace in use over the ports behind the commands. `caller` answers what is tried. */
export async function openDashboard(
  context: Context,
  caller: Caller,
  { isReadOnly, origin, apiUrl, source }: DashboardChoices,
): Promise<Dashboard> {
  const { createDashboard } = await import('../../../dashboard/server.js')
  const { watchDatabases } = await import('../../../storage/database/changes.js')
  const admin = await openAdmin(context.withGlobals({ local: true }))
  const workspace = (await admin.status()).workspace
  const { engine, state, catalogue } = context.home
  return createDashboard({
    isReadOnly,
    workspace,
    ports: {
      admin: rememberSums(admin),
      ...openEnginePorts(context, { admin, caller, workspaceId: workspace.id }),
      ...{ apiUrl, source },
      catalogue: () => context.catalogue(),
      runs: openRunsPort(context),
      inbox: await openInboxPort(context),
    },
    explain: reportOf,
    report: (error) => notifyBug(context, error),
    watch: (onChange) => watchDatabases([engine, state, catalogue], onChange),
    random: (size) => context.ids.bytes(size),
    onLink: (link) => context.notify(`The link was used. For another browser: ${origin()}${link}`),
  })
}

const dayMs = 86_400_000

/** Most sums that are remembered. Each range of days that is asked for has its own. */
const mostSums = 50

/**
 * Returns an administration that remembers sums of the ledger. Movements are only added, so that the sum of the new ones
 * completes what is remembered.
 */
export function rememberSums(admin: Admin): Admin {
  const sums = new Map<string, { readonly last: number; readonly value: unknown }>()
  const remember = async <T>(
    key: string,
    last: number,
    read: (known: { readonly last: number; readonly value: T } | undefined) => Promise<T>,
  ): Promise<T> => {
    const known = sums.get(key) as { readonly last: number; readonly value: T } | undefined
    if (known?.last === last) return known.value
    // A ledger that has become shorter is another one: a backup was restored.
    const value = await read(known && known.last < last ? known : undefined)
    sums.set(key, { last, value })
    for (const oldest of sums.keys()) if (sums.size > mostSums) sums.delete(oldest)
    return value
  }
  return {
    ...admin,
    consumption: async (range, by) => {
      const last = (await admin.position()).seq
      return remember<readonly Consumption[]>(JSON.stringify([range, by]), last, async (known) =>
        addSums(known?.value ?? [], await admin.consumption(range, by, { after: known?.last ?? 0, last })),
      )
    },
    members: async () => {
      const last = (await admin.position()).seq
      return admin.members((reads, member, now) =>
        remember(`${member.id} ${Math.floor(now / dayMs)}`, last, () =>
          readSpentThisWeek(reads, member, now),
        ),
      )
    },
  }
}

function addSums(some: readonly Consumption[], more: readonly Consumption[]): readonly Consumption[] {
  const sums = new Map(some.map((sum) => [sum.by, sum]))
  for (const { by, credits, movements } of more) {
    const { credits: before = 0, movements: count = 0 } = sums.get(by) ?? {}
    sums.set(by, { by, credits: before + credits, movements: count + movements })
  }
  return [...sums.values()].sort((one, other) => (one.by < other.by ? -1 : 1))
}
