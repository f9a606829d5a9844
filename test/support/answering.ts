import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'

/** A call that reached the target. */
export interface Asked {
  readonly id: OperationId
  readonly input: Input
  readonly options: CallOptions
}

/** A target that replies from a list, whose last reply repeats, or with what a function returns, and records its calls. */
export function answering(
  ...replies: readonly Partial<Reply>[] | [(id: OperationId, input: Input, options: CallOptions) => Answered]
): Caller & { readonly asked: Asked[] } {
  const asked: Asked[] = []
  return {
    asked,
    call: async (id, input, options = {}) => {
      asked.push({ id, input, options })
      const reply = replies[Math.min(asked.length, replies.length) - 1]
      const own = await (typeof reply === 'function' ? reply(id, input, options) : reply)
      return { status: 200, body: {}, headers: {}, credits: 0, ...own }
    },
    close: async () => {},
  }
}

type Answered = Partial<Reply> | Promise<Partial<Reply>>
