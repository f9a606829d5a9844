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

async function both(text: string, { kind, options }: ReaderTask = task): Promise<[Read, Read]> {
  const there = await allOf(readInWorker(program, { kind, options }, bytesOf(text, 10_000)))
  return [there, await allOf(prepareFile(kind, bytesOf(text, 10_000), options, countedIds(), keepAsIs))]
}

describe('a file that is read in a worker thread', () => {
  it('yields the same batches as in the main thread', async () => {
    const [there, here] = await both(file)
    expect(here.portions.length).toBeGreaterThan(3)
    expect(plain(there)).toEqual(plain(here))
  })

  it('keeps the cells of its rows where rejected rows are wanted, and the format of the file', async () => {
    const [there, here] = await both(file, { kind: 'companies', options: { keepsRows: true } })
    expect(plain(there)).toEqual(plain(here))
    expect(there.portions.flatMap(({ rejected }) => rejected)).toMatchObject([{ cells: ['no domain', ''] }])
    expect(there.portions[0]?.columns.original?.header).toEqual(['Company Name', 'domain'])
  })

  it('is read with its options', async () => {
    const [there, here] = await both('Acm\u00e9;acme.example', {
      kind: 'companies',
      options: { map: { domain: 'acme.example' } },
    })
    expect(plain(there)).toEqual(plain(here))
  })

  it.each([
    ['a quote that is never closed', `${file}"open`],
    ['a header that identifies nothing', 'a,b\n1,2\n'],
  ])('fails as in the main thread, after the same batches, for %s', async (_, text) => {
    const [there, here] = await both(text)
    expect(there.error).toBeInstanceOf(Refusal)
    expect(plain(there)).toEqual(plain(here))
  })

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

  /** Reads as the worker does, in this thread; posts bytes and takes what it posts. */
  function reading() {
    const { port1: port, port2: inner } = new MessageChannel()
    onTestFinished(() => port.close())
    const messages: MessageFromReader[] = []
    const batches = () => messages.filter((message) => 'batch' in message).length
    port.on('message', (message: MessageFromReader) => messages.push(message))
    const ended = until(() => messages.some((message) => 'end' in message || 'refusal' in message))
    void readMessages(inner, task)
    return { port, messages, batches, ended }
  }

  it('is read two batches ahead of those that were written', async () => {
    const { port, messages, batches, ended } = reading()
    for await (const bytes of bytesOf(file, 10_000)) port.postMessage({ bytes })
    port.postMessage({ end: 'complete' })
    await until(() => batches() === 3)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(batches()).toBe(3)
    port.postMessage({ written: true })
    await until(() => batches() === 4)
    for (let left = 0; left < 20; left++) port.postMessage({ written: true })
    await ended
    expect([messages[0], messages.at(-1)]).toEqual([{ taken: true }, { end: true }])
  })

  it.each([
    ['its bytes break off', 'Company Name,domain\nA,a.example\n', 'broken', { end: true }],
    [
      'it cannot be read',
      'a,b\n1,2\n',
      'complete',
      { refusal: 'import.unidentified', details: expect.objectContaining({ line: 1 }) },
    ],
  ])('ends where %s', async (_, text, end, last) => {
    const { port, messages, ended } = reading()
    port.postMessage({ bytes: Buffer.from(text) })
    port.postMessage({ end })
    await ended
    expect(messages.at(-1)).toEqual(last)
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
