import { Option } from 'commander'
import type { Caller } from '../../../api/calls/caller.js'
import type { Dashboard } from '../../../dashboard/server.js'
import type { Admin } from '../../../engine/admin/admin.js'
import { readSpentThisWeek } from '../../../engine/credits/weekly-limit.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { reportOf, UsageError } from '../../context/errors.js'
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
}

/** What a dashboard is opened with. */
interface DashboardSetup extends DashboardChoices {
  /** Answers the operations that are tried. */
  readonly caller: Caller
}

/** Options of a command that serves the dashboard. */
export interface ExposureOptions {
  readonly public?: boolean
  readonly readOnly?: boolean
  readonly dashboardPublic?: boolean
}

/** Creates the options that say what the dashboard permits, and to whom. */
export const exposureOptions = (): Option[] => [
  new Option('--read-only', 'a dashboard without buttons: it changes nothing'),
  new Option('--dashboard-public', 'permit the dashboard together with --public; it is read-only then'),
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

/** Opens the dashboard of the workspace in use over the ports behind the commands. */
export async function openDashboard(
  context: Context,
  { isReadOnly, caller, origin, apiUrl }: DashboardSetup,
  globals: GlobalOptions,
): Promise<Dashboard> {
  const { createDashboard } = await import('../../../dashboard/server.js')
  const { watchDatabases } = await import('../../../storage/database/changes.js')
  const admin = await context.admin({ ...globals, local: true })
  const workspace = (await admin.status()).workspace
  const { engine, state, catalogue } = context.home
  return createDashboard({
    isReadOnly,
    workspace,
    ports: {
      admin: rememberSums(admin),
      ...openEnginePorts(context, { admin, caller, workspaceId: workspace.id }, globals),
      apiUrl,
      catalogue: () => context.catalogue(),
      runs: openRunsPort(context),
      inbox: await openInboxPort(context),
    },
    explain: reportOf,
    report: (error) => {
      const text = error instanceof Error ? error.message : String(error)
      context.notify(`This is a bug in prospect: ${text}`, globals)
      if (globals.verbose && error instanceof Error) context.notify(error.stack ?? '', globals)
    },
    watch: (onChange) => watchDatabases([engine, state, catalogue], onChange),
    random: (size) => context.ids.bytes(size),
    onLink: (link) => context.notify(`The link was used. For another browser: ${origin()}${link}`, globals),
  })
}

const dayMs = 86_400_000

/** Returns an administration that remembers the sums of a long ledger until its next movement. */
function rememberSums(admin: Admin): Admin {
  let at = -1
  const sums = new Map<string, unknown>()
  const forgetOld = async () => {
    const { seq } = await admin.position()
    if (seq !== at) sums.clear()
    at = seq
  }
  const remember = async <T>(key: string, read: () => Promise<T>): Promise<T> => {
    if (!sums.has(key)) sums.set(key, await read())
    return sums.get(key) as T
  }
  return {
    ...admin,
    consumption: async (range, by) => {
      await forgetOld()
      return remember(JSON.stringify([range, by]), () => admin.consumption(range, by))
    },
    members: async () => {
      await forgetOld()
      return admin.members((reads, member, now) =>
        remember(`${member.id} ${Math.floor(now / dayMs)}`, () => readSpentThisWeek(reads, member, now)),
      )
    },
  }
}
