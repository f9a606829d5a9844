import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import { ApiError, errorBody } from '../../src/api/calls/errors.js'
import { type OperationId, operation } from '../../src/api/operations/table.js'

/** One call that was accepted. */
export interface Seen {
  readonly id: OperationId
  readonly input: Input
  readonly options: CallOptions
}

/** A caller that accepts the key `right`, reads the input as the engine does, and remembers every call. */
export class CountingCaller implements Caller {
  readonly seen: Seen[] = []
  /** Calls that reached it at all, with any key. */
  calls = 0
  reply: Partial<Reply> = {}
  /** Runs before the reply, such as waiting. */
  work: (options: CallOptions) => Promise<void> = async () => {}

  call(id: OperationId, input: Input, options: CallOptions = {}): Promise<Reply> {
    return this.answerRequest(id, async () => input, options)
  }

  async answerRequest(
    id: OperationId,
    readInput: () => Promise<Input>,
    options: CallOptions = {},
  ): Promise<Reply> {
    this.calls++
    try {
      if (options.apiKey !== 'right') throw new ApiError('invalid_api_key')
      const input = await readInput()
      this.seen.push({ id, input, options })
      await this.work(options)
      return { status: 200, body: { id }, headers: {}, credits: 0, ...this.reply }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return {
        status: error.status,
        body: errorBody(error, operation(id)),
        headers: error.headers,
        credits: 0,
      }
    }
  }

  async close(): Promise<void> {}
}
