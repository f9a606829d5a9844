import { MessageChannel } from 'node:worker_threads'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Refusal } from '../../../src/api/calls/errors.js'
import {
  keepAsIs,
  type PreparedBatch,
  type PreparedRecord,
  prepareFile,
  type RecordList,
} from '../../../src/catalogue/import/prepare.js'
import {
  type MessageFromReader,
  type ReaderTask,
  readInWorker,
} from '../../../src/catalogue/import/reader.js'
import { readMessages } from '../../../src/catalogue/import/reader-worker.js'
import { bundled } from '../../support/programs.js'
import { until } from '../../support/until.js'
import { bytesOf, countedIds } from '../open.js'

let program: string
beforeAll(async () => {
  program = await bundled('../src/catalogue/import/reader-worker.ts')
})

const task: ReaderTask = { kind: 'companies', options: {} }
const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `Company ${from + at},c${from + at}.example\n`).join('')
const file = `Company Name,domain\n${rows(0, 2_500)}no domain,\n${rows(2_500, 5_000)}`

interface Read {
  readonly portions: readonly PreparedBatch[]
  readonly error?: unknown
}

async function allOf(portions: AsyncIterable<PreparedBatch>): Promise<Read> {
  const read: PreparedBatch[] = []
  try {
    for await (const portion of portions) read.push(portion)
    return { portions: read }
  } catch (error) {
    return { portions: read, error }
  }
}

const all = (records: RecordList): readonly PreparedRecord[] => records.slice(0, records.length)

/** What was read, without the ids, which are made at random. */
const plain = ({ portions, error }: Read) => ({
  error,
  portions: portions.map((portion) =>
    JSON.stringify({ ...portion, records: all(portion.records) }).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id'),
  ),
})

describe('a file that is read in a worker thread', () => {
  it.each<[string, string, ReaderTask['options'], boolean]>([
    ['a whole file', file, {}, false],
    ['a file whose rejected rows are wanted', file, { keepsRows: true }, false],
    ['a file with options', 'Acm\u00e9;acme.example', { map: { domain: 'acme.example' } }, false],
    ['a quote that is never closed', `${file}"open`, {}, true],
    ['a header that identifies nothing', 'a,b\n1,2\n', {}, true],
  ])(
    'yields the same batches, and fails alike, as in the main thread: %s',
    async (_, text, options, fails) => {
      const there = await allOf(readInWorker(program, { kind: 'companies', options }, bytesOf(text, 10_000)))
      const here = prepareFile('companies', bytesOf(text, 10_000), options, countedIds(), keepAsIs)
      expect(plain(there)).toEqual(plain(await allOf(here)))
      expect(there.error instanceof Refusal).toBe(fails)
      expect(there.portions.length > 3).toBe(text.length > 10_000)
    },
  )

  it('ends with the error of its bytes, after the batches before', async () => {
    const broken = new Error('unplugged')
    async function* bytes() {
      yield* bytesOf(`Company Name,domain\n${rows(0, 5_000)}`, 10_000)
      throw broken
    }
    const { portions, error } = await allOf(readInWorker(program, task, bytes()))
    expect(error).toBe(broken)
    expect(portions.flatMap(({ records }) => all(records))).toHaveLength(5_000)
  })

  it('is read two batches ahead of those that were written', async () => {
    const { port1: port, port2: inner } = new MessageChannel()
    onTestFinished(() => port.close())
    const messages: MessageFromReader[] = []
    const batches = () => messages.filter((message) => 'batch' in message).length
    port.on('message', (message: MessageFromReader) => messages.push(message))
    void readMessages(inner, task)
    for await (const bytes of bytesOf(file, 10_000)) port.postMessage({ bytes })
    port.postMessage({ end: 'complete' })
    await until(() => batches() === 3)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(batches()).toBe(3)
    for (let left = 0; left < 20; left++) port.postMessage({ written: true })
    await until(() => messages.some((message) => 'end' in message))
    expect([messages[0], messages.at(-1)]).toEqual([{ taken: true }, { end: true }])
  })

  it('is no longer read when its consumer stops', async () => {
    let given = 0
    let closed = false
    async function* bytes() {
      try {
        yield Buffer.from('Company Name,domain\n')
        for (; ; given += 1_000) yield Buffer.from(rows(given, given + 1_000))
      } finally {
        closed = true
      }
    }
    for await (const { records } of readInWorker(program, task, bytes())) if (records.length > 0) break
    expect(given).toBeLessThan(100_000)
    expect(closed).toBe(true)
  })
})
