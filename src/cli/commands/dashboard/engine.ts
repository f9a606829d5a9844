import type { Caller } from '../../../api/calls/caller.js'
import type { DashboardPorts } from '../../../dashboard/page/ports.js'
import type { Admin } from '../../../engine/admin/admin.js'
import type { Context } from '../../context/context.js'
import { localOrigin, storedKey } from '../../context/credentials.js'
import { once } from '../../context/once.js'
import { createSpendingLayer, openSpending } from '../../operation/record-spending.js'
import { renderRecords } from '../../output/print-records.js'
import { makeKey } from '../../target/local-target.js'
import { forgetDeadKey } from '../engine/members.js'

type EnginePorts = Pick<DashboardPorts, 'limits' | 'call' | 'spent' | 'revokeKey' | 'render'>

/** Opens what the dashboard does with the key of this machine, and what this machine has spent. */
export function openEnginePorts(
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
