import type { Reply } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { renameIn, renameOut, type WireNames } from '../api/calls/wire-names.js'

/** Serves a caller with other words in field names, in requests and in replies. */
export const named =
  (names: WireNames): Layer =>
  (caller) => {
    const rename = ({ text: _, ...reply }: Reply): Reply => ({ ...reply, body: renameOut(reply.body, names) })
    const { answerRequest } = caller
    return {
      ...caller,
      call: async (id, input, options) =>
        rename(await caller.call(id, renameIn(input, names) as typeof input, options)),
      ...(answerRequest && {
        answerRequest: async (id, readInput, options) => {
          const renamed: typeof readInput = async (reader) => {
            const { input, ...rest } = await readInput(reader)
            return { ...rest, input: renameIn(input, names) as typeof input }
          }
          return rename(await answerRequest.call(caller, id, renamed, options))
        },
      }),
    }
  }
