import type { Sender, Vendors } from '../../api/ports/ports.js'
import { once } from '../../api/values/objects.js'
import type { Machine, TargetOptions } from '../context/context.js'
import { providerKeyName, storedKey } from '../context/credentials.js'
import type { openEngineStore } from '../context/open-databases.js'

/** Returns a sender that is loaded on first use. It is registered first, so that it closes after what uses it. */
export function lazySender({ clock, onClose }: Machine, { names, deliveryShape }: TargetOptions): Sender {
  let made: Sender | undefined
  onClose(() => made?.close())
  const sender = once(async () => {
    const { createSender } = await import('../../client/sender.js')
    made = createSender({ clock, names, shape: deliveryShape })
    return made
  })
  return {
    send: async (attempt) => (await sender()).send(attempt),
    check: async (...checked) => (await sender()).check(...checked),
    close: async () => {},
  }
}

/** Returns what asks data vendors, loaded when a workspace has any. */
export function lazyVendors(machine: Machine, shared: () => ReturnType<typeof openEngineStore>): Vendors {
  const desk = once(async () => {
    const { openVendors } = await import('../../providers/vendors.js')
    // A home that cannot be used is refused where it is used.
    const { home, clock, sleep, streams, onClose } = machine
    const keyOf = (workspaceId: string, name: string) => storedKey(home, providerKeyName(workspaceId, name))
    const servers = streams.env.PROSPECT_DNS?.split(/[\s,]+/).filter((server) => server !== '')
    const opened = openVendors({ store: (await shared()).store, clock, keyOf, sleep, servers })
    onClose(() => opened.close())
    return opened
  })
  return {
    has: async (workspaceId) => {
      const { store } = await shared()
      const { hasProviders } = await import('../../engine/tables/providers.js')
      return (await store.read((tx) => hasProviders(tx, workspaceId))) && (await desk()).has(workspaceId)
    },
    ask: async function* (...question) {
      yield* (await desk()).ask(...question)
    },
  }
}
