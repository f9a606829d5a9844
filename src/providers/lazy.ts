import type { Vendors } from '../api/ports/ports.js'
import { once } from '../api/values/objects.js'
import { hasProviders } from '../engine/tables/providers.js'
import type { Driver } from '../storage/driver/connection.js'
import type { OpenPorts } from './vendors.js'

interface LazyPorts extends Omit<OpenPorts, 'store'> {
  readonly store: () => Promise<Driver>
  /** Is given what closes the connections, once there are any. */
  onClose(close: () => Promise<void>): void
}

/** Returns what asks data vendors, loaded when a workspace has any. */
export function lazyVendors({ store, onClose, ...ports }: LazyPorts): Vendors {
  const desk = once(async () => {
    const { openVendors } = await import('./vendors.js')
    const opened = openVendors({ ...ports, store: await store() })
    onClose(() => opened.close())
    return opened
  })
  return {
    has: async (workspaceId, kinds) => {
      return (await hasProviders(await store(), workspaceId)) && (await desk()).has(workspaceId, kinds)
    },
    columns: async (...which) => (await desk()).columns(...which),
    ask: async function* (...question) {
      yield* (await desk()).ask(...question)
    },
  }
}
