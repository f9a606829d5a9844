import type { Caller } from '../api/calls/caller.js'
import { renameIn, renameOut, type WireNames } from '../api/calls/wire-names.js'

/** A caller whose fields have other words on the wire, in requests and in replies. */
export const withWireNames = (caller: Caller, names: WireNames): Caller => ({
  ...caller,
  call: async (id, input, options) => {
    const fields = async () => {
      const given = typeof input === 'function' ? await input() : input
      return renameIn(given, names) as typeof given
    }
    const { text: _, ...reply } = await caller.call(id, fields, options)
    return { ...reply, body: renameOut(reply.body, names) }
  },
})
