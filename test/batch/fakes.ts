import type { Caller, CallOptions, Input, Reply } from '../../src/api/caller.js'
import type { OperationId } from '../../src/api/table.js'
import type { Batch } from '../../src/batch/batch.js'
import { csvFormat } from '../../src/batch/format.js'
import { createLayout } from '../../src/batch/layout.js'
import { mapColumns, rowInput } from '../../src/batch/mapping.js'
import { openTable } from '../../src/batch/read.js'
import { createScratch } from '../../src/batch/scratch.js'
import type { Sink } from '../../src/batch/sink.js'
import { createWriter } from '../../src/batch/write.js'
import { openSqlite } from '../../src/storage/sqlite.js'

/** A reply without headers. */
export const reply = (
  status: number,
  body: unknown,
  credits = 0,
  headers: Record<string, string> = {},
): Reply => ({
  status,
  body,
  headers,
  credits,
})

/** A company that was found, for one credit. */
export const company = (domain: unknown): Reply =>
  reply(200, { domain, industry: `Industry of ${domain}` }, 1)

export interface Call {
  readonly id: OperationId
  readonly input: Input
  readonly options: CallOptions | undefined
}

/** A caller that answers as it is told and remembers what it was asked. */
export function fakeCaller(answer: (input: Input, nth: number) => Reply | Promise<Reply>) {
  const calls: Call[] = []
  let underWay = 0
  let most = 0
  const caller: Caller = {
    async call(id, input, options) {
      if (typeof input === 'function') throw new Error('batches give their input as it is')
      calls.push({ id, input, options })
      most = Math.max(most, ++underWay)
      try {
        return await answer(input, calls.length)
      } finally {
        underWay--
      }
    },
    async close() {},
  }
  return { caller, calls, domains: () => calls.map(({ input }) => input.domain), most: () => most }
}

/** A sink in memory that says how it ended. */
export function memorySink(): Sink & { text(): string; ended(): 'finished' | 'abandoned' | undefined } {
  let text = ''
  let ended: 'finished' | 'abandoned' | undefined
  return {
    output: 'out.csv',
    partial: 'out.csv.partial',
    write: async (more) => {
      text += more
    },
    finish: async () => {
      ended = 'finished'
    },
    abandon: async () => {
      ended = 'abandoned'
    },
    text: () => text,
    ended: () => ended,
  }
}

/** Time that passes only in sleeps. */
export function fakeTime() {
  let now = 1_000_000
  const slept: number[] = []
  return {
    slept,
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms)
      now += ms
    },
  }
}

/** A batch over a file of companies, with a scratch journal in memory; what a test does not give is usual. */
export async function companyBatch(
  file: string,
  caller: Caller,
  sink: Sink,
  more: Partial<Batch> = {},
): Promise<Batch> {
  const table = await openTable(file)
  const mapping = mapColumns({
    header: table.header,
    fields: ['name', 'domain', 'country'],
    subject: 'company',
  })
  const results = ['domain', 'industry'].map((name) => ({ name, path: [name] }))
  return {
    table,
    input: rowInput(mapping),
    identity: ({ domain, name }) =>
      domain === undefined ? (name as string | undefined) : `domain ${domain}`,
    operation: 'accounts.enrich',
    caller,
    journal: await createScratch(openSqlite(':memory:'), { expected: 1_000 }),
    writer: createWriter(sink, csvFormat(createLayout(table.header, results))),
    time: fakeTime(),
    ...more,
  }
}
