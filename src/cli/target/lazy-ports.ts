import type { Sender, Vendors } from '../../api/ports/ports.js'
import { providerKeyName } from '../../api/values/key-names.js'
import { once } from '../../api/values/objects.js'
import { lazyVendors } from '../../providers/lazy.js'
import type { Machine, TargetOptions } from '../context/context.js'
import { storedKey } from '../context/credentials.js'
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

/** Returns what asking the data vendors of this machine's workspaces needs, with the keys of its home. */
export const vendorPorts = (machine: Machine) => ({
  clock: machine.clock,
  // A home that cannot be used is refused where it is used.
  keyOf: (workspaceId: string, name: string) => storedKey(machine.home, providerKeyName(workspaceId, name)),
  sleep: machine.sleep,
  random: (bytes: number) => machine.ids.bytes(bytes),
  servers: machine.streams.env.PROSPECT_DNS?.split(/[\s,]+/).filter((server) => server !== ''),
})

/** Returns what asks the data vendors of this machine's workspaces. */
export const vendorsOf = (machine: Machine, shared: () => ReturnType<typeof openEngineStore>): Vendors =>
  lazyVendors({
    ...vendorPorts(machine),
    store: async () => (await shared()).store,
    onClose: (close) => machine.onClose(close),
  })
