import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import { ApiError } from '../../src/api/calls/errors.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { runSentences } from '../../src/cli/batch/map-columns.js'
import { describe as sentenceOf } from '../../src/cli/messages.js'
import { type LookupOptions, type Lookups, openLookups } from '../../src/lookups/store.js'
import { asRead, mapColumns, rowInput } from '../../src/runs/input/mapping.js'
import { openTable } from '../../src/runs/input/table.js'
import { type NewRun, type Run, runsOver } from '../../src/runs/journal/runs.js'
import { createLayout, type OutputRow } from '../../src/runs/output/columns.js'
import { rowFormats } from '../../src/runs/output/formats.js'
import {
  createWriter,
  type Files,
  nodeFiles,
  type OutputFile,
  type Sink,
} from '../../src/runs/output/writer.js'
import type { Batch } from '../../src/runs/ports.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openState } from '../../src/storage/state/open.js'

/** Domains of so many companies. */
export const domainsOf = (count: number) => Array.from({ length: count }, (_, at) => `d${at}.example`)

/** A file of domains. */
export const csvOf = (domains: readonly string[]) => `domain\n${domains.join('\n')}\n`

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
export function fakeCaller(
  answer: (input: Input, nth: number, options: CallOptions) => Reply | Promise<Reply>,
) {
  const calls: Call[] = []
  let underWay = 0
  let most = 0
  const caller: Caller = {
    async call(id, input, options) {
      calls.push({ id, input, options })
      most = Math.max(most, ++underWay)
      try {
        return await answer(input, calls.length, options ?? {})
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
    discard: async () => {},
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
      // Whatever is told in this moment is told before the time has passed.
      await new Promise((resolve) => setImmediate(resolve))
      now += ms
    },
  }
}

/** A run that begins. */
export const newRun = (more: Partial<NewRun> = {}): NewRun => ({
  id: 'run-1',
  identityKey: 'known',
  operation: 'accounts.enrich',
  target: 'local',
  workspace: 'ours',
  profile: 'default',
  file: '/in.csv',
  fileHash: 'hash',
  request: '{}',
  output: null,
  total: 10,
  startedAt: 1_000,
  ...more,
})

/** The lookups of a run as its next execution opens them. */
export const lookupsFor = (
  driver: Driver,
  run: Run,
  options: Partial<LookupOptions> = {},
): Promise<Lookups> =>
  openLookups(driver, run, {
    now: () => 1_000_000,
    budgets: {},
    mayRepeat: true,
    retryUnknown: false,
    ...options,
  })

/** The lookups of a run that begins, in memory. */
export async function newLookups(options: Partial<LookupOptions> = {}, state?: Driver): Promise<Lookups> {
  const driver = state ?? (await openState(':memory:'))
  return lookupsFor(driver, await runsOver(driver).add(newRun()), options)
}

/** A batch over a file of companies, with lookups in memory; what a test does not give is usual. */
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
  const toInput = rowInput(mapping)
  return {
    table,
    read: (cells) => asRead(toInput(cells)),
    identity: ({ domain, name }) =>
      domain === undefined ? (name as string | undefined) : `domain ${domain}`,
    operation: 'accounts.enrich',
    caller,
    most: () => 1,
    lookups: await newLookups(),
    writer: createWriter(sink, rowFormats.csv.create(createLayout(table.header, results))),
    time: fakeTime(),
    explainStop: runSentences(() => false).explainStop,
    explain: (refusal) => (refusal instanceof ApiError ? refusal.message : sentenceOf(refusal)),
    ...more,
  }
}

/** Makes the disk full after so many answers. */
export function fillDisk(lookups: Lookups, room: number): Lookups {
  const settle = lookups.settle.bind(lookups)
  let left = room
  return Object.assign(lookups, {
    settle: async (rows: Parameters<Lookups['settle']>[0]) => {
      left -= rows.length
      if (left < 0) throw new ApiError('storage_failed', { reason: 'the disk is full' })
      await settle(rows)
    },
  })
}

/** An error of the system. */
export const failure = (code: string) => Object.assign(new Error(code), { code })

/** The real file system, where an operation fails from its n-th use on. A write that fails has written half. */
export function failingFiles(
  operation: 'create' | 'appendFile' | 'sync' | 'rename' | 'syncFolder',
  code: string,
  nth = 1,
): Files {
  let uses = 0
  const permit = (name: typeof operation) => {
    if (name === operation && ++uses >= nth) throw failure(code)
  }
  const watched = (file: OutputFile): OutputFile => ({
    appendFile: async (bytes) => {
      try {
        permit('appendFile')
      } catch (error) {
        const whole = bytes as Uint8Array
        await file.appendFile(whole.subarray(0, whole.length >> 1))
        throw error
      }
      await file.appendFile(bytes)
    },
    truncate: (length) => file.truncate(length),
    sync: async () => {
      permit('sync')
      await file.sync()
    },
    close: () => file.close(),
  })
  return {
    ...nodeFiles,
    create: async (path) => {
      permit('create')
      return watched(await nodeFiles.create(path))
    },
    rename: async (from, to) => {
      permit('rename')
      await nodeFiles.rename(from, to)
    },
    syncFolder: async (path) => {
      permit('syncFolder')
      await nodeFiles.syncFolder(path)
    },
  }
}

/** An answer that cost a credit. */
export const foundAnswer = (body: unknown) => ({ status: 'found', error: null, body, credits: 1 }) as const

/** A row of an output that was found for a credit. */
export const outputRow = (
  cells: readonly string[],
  body?: unknown,
  more: Partial<OutputRow> = {},
): OutputRow => ({
  line: 2,
  cells,
  body,
  status: 'found',
  error: null,
  credits: 1,
  source: 'live',
  ...more,
})
