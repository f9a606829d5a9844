import type { Caller } from '../../../api/calls/caller.js'
import { once } from '../../../api/values/once.js'
import type { DashboardPorts, InboxPort } from '../../../dashboard/page/ports.js'
import type { Dashboard } from '../../../dashboard/server.js'
import type { Admin } from '../../../engine/admin/admin.js'
import type { Consumption, Grouping } from '../../../engine/credits/ledger.js'
import { readSpentThisWeek } from '../../../engine/credits/ledger.js'
import type { KeptEvent } from '../../../storage/state/webhook-inbox.js'
import type { Context } from '../../context/context.js'
import { localOrigin, storedKey } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { openAdmin, openEvents } from '../../context/open-databases.js'
import { reportOf } from '../../messages.js'
import { createSpendingLayer, openSpending } from '../../operation/record-spending.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { targetUrl } from '../../options/webhooks.js'
import { renderRecords } from '../../output/print.js'
import { notifyBug } from '../../output/report-error.js'
import { makeKey } from '../../target/local-target.js'
import { forgetDeadKey } from '../engine/members.js'
import { readNumbers } from '../events/events.js'
import { checkSent, type SendRequest, type SentEvent, sendEvents } from '../events/send.js'
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

/** The options that say what the dashboard permits, and to whom. */
export const exposureOptions = optionRows({
  readOnly: ['', 'a read-only dashboard, without buttons'],
  dashboardPublic: ['', 'allow a read-only dashboard with --public'],
})

type ExposureOptions = OptionsOf<typeof exposureOptions> & { readonly public?: boolean }

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
        addSums(
          known?.value ?? [],
          await admin.consumption(range, by, { after: known?.last ?? 0, last }),
          by,
        ),
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

/** Adds sums by the same keys, in their order. */
function addSums(
  some: readonly Consumption[],
  more: readonly Consumption[],
  by: readonly Grouping[],
): readonly Consumption[] {
  // A key that begins with another one comes after it, as in the database.
  const keyOf = (sum: Consumption) => by.map((name) => sum[name]).join('\0')
  const sums = new Map(some.map((sum) => [keyOf(sum), sum]))
  for (const { credits, movements, ...keys } of more) {
    const key = keyOf({ credits, movements, ...keys })
    const { credits: before = 0, movements: count = 0 } = sums.get(key) ?? {}
    sums.set(key, { ...keys, credits: before + credits, movements: count + movements })
  }
  return [...sums.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}

type EnginePorts = Pick<DashboardPorts, 'limits' | 'call' | 'spent' | 'revokeKey' | 'render'>

/** Opens what the dashboard does with the key of this machine, and what this machine has spent. */
function openEnginePorts(
  context: Context,
  {
    admin,
    caller,
    workspaceId,
  }: { readonly admin: Admin; readonly caller: Caller; readonly workspaceId: string },
): EnginePorts {
  const local = context.withGlobals({ local: true })
  const recorded = createSpendingLayer(local)(caller)
  const spending = once(() => openSpending(context))
  // A command or this page may have revoked it, and the next one made another.
  const apiKey = async () =>
    storedKey(context.home, localOrigin(workspaceId)) ?? (await makeKey(local, admin))
  return {
    limits: async () => admin.limits(await apiKey()),
    call: async (operation, input, idempotencyKey) =>
      recorded.call(operation, input, {
        apiKey: await apiKey(),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      }),
    spent: async (days) => (await spending()).list(days),
    revokeKey: async (id) => {
      await admin.revokeKey(id)
      await forgetDeadKey(local, admin)
    },
    render: renderRecords,
  }
}

/** Opens the inbox of this machine for the dashboard: the functions behind `prospect events`. */
async function openInboxPort(context: Context): Promise<InboxPort> {
  const events = await openEvents(context)
  const ending = new AbortController()
  context.onClose(() => ending.abort())
  const send = async (url: string, numbers: SendRequest['numbers']) => {
    const target = targetUrl(url, 'The field')
    const sent: SentEvent[] = []
    await sendEvents(context, { events, target, numbers }, sent, ending.signal)
    checkSent(sent, target)
    return sent
  }
  const find = async (id: string): Promise<KeptEvent> => {
    const event = await events.find(id)
    if (!event) throw new UsageError(`There is no event ${id}.`, 'It may have been purged.')
    return event
  }
  return {
    list: (filter, limit, after) => events.list(filter, 'newest', limit, after),
    find: (id) => events.find(id),
    replay: async (id, url) => (await send(url, [(await find(id)).seq]))[0]?.answer ?? 'none',
    forward: async (filter, url) => {
      const which = { filter, limit: Number.POSITIVE_INFINITY }
      return (await send(url, readNumbers(events, which))).length
    },
  }
}
