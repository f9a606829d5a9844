import { beforeEach, describe, expect, it } from 'vitest'
import { parseExact, toJson } from '../../../src/api/values/json.js'
import { hashNumber, hashOf } from '../../../src/csv/identity-filter.js'
import type { RowAnswer } from '../../../src/lookups/answer.js'
import { lookupsMark } from '../../../src/lookups/store.js'
import { type NewRun, type Run, runsOver } from '../../../src/runs/journal/runs.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { eraseFromState } from '../../../src/storage/erasure/erase.js'
import type { SubjectMatcher } from '../../../src/storage/erasure/traversal.js'
import { openState } from '../../../src/storage/state/open.js'
import { serverMemory } from '../../../src/storage/state/remote-servers.js'
import { type Events, eventsOver } from '../../../src/storage/state/webhook-inbox.js'
import { lookupsFor, newRun } from '../../runs/fakes.js'
import { states } from '../../support/databases.js'

const now = Date.parse('2026-03-10T12:00:00Z')

const has = (value: unknown, word: string) => value !== undefined && toJson(value).includes(word)

/** Everything that says jane; what says it at length only mentions her. */
const jane: SubjectMatcher = {
  mentions: (value) => has(value, 'jane'),
  isAbout: (value) => has(value, '"jane"'),
  without: <T>(value: T, blank: unknown) =>
    has(value, 'jane')
      ? (parseExact(toJson(value).replace(/"[^"]*jane[^"]*"/g, toJson(blank ?? null))) as T)
      : value,
}

let state: Driver

const runOf = (id: string, more: Partial<NewRun> = {}): NewRun =>
  newRun({ id, identityKey: id, file: `/${id}.csv`, ...more })
const started = (id: string, more?: Partial<NewRun>): Promise<Run> => runsOver(state).add(runOf(id, more))

const found = (body: unknown, credits = 1): RowAnswer => ({ status: 'found', error: null, body, credits })
const rowOf = (ordinal: number, identity: string) => ({
  ordinal,
  identity,
  hash: hashNumber(hashOf(identity)),
  most: 3,
  input: {},
})
const maxAgeMs = 1_000
/** Claims a row of a run. */
const claim = async (run: Run, ordinal: number, identity: string, input = {}) => {
  const lookups = await lookupsFor(state, run, { now: () => now, maxAgeMs, isAlive: async () => false })
  const [one] = await lookups.claim([{ ...rowOf(ordinal, identity), input }])
  return { lookups, one }
}
/** Records the answer of a row that is asked. */
const kept = async (run: Run, ordinal: number, identity: string, answer: RowAnswer) => {
  const { lookups, one } = await claim(run, ordinal, identity)
  if (one?.is !== 'ask') throw new Error('it has an answer already')
  await lookups.settle([{ ...rowOf(ordinal, identity), answer, source: 'live', ask: one.ask }])
}
const written = (...paths: string[]) => paths.map((path) => ({ path, isWhole: true }))
const forget = (dryRun = false) => eraseFromState(state, jane, now, dryRun)
/** What the first rows of a run are answered with; absent where there is nothing on record. */
const rows = async (run: Run) => {
  const lookups = await lookupsFor(state, run)
  return [...(await lookups.answersOf([...Array(9).keys()]))].map(([ordinal, { answer }]) => ({
    ordinal,
    answer,
  }))
}

const event = { path: 'p', receivedAt: now, event: 'x', search: 's', verified: true, headers: {} }

describe.each(states())('erasing a person from stored run results: %s', (_, open) => {
  beforeEach(async () => {
    state = await open()
  })

  it('marks answers about them as skipped at their old cost, and keeps others', async () => {
    const run = await started('a')
    await kept(run, 0, 'person:jane', found({ name: 'x' }))
    await kept(run, 1, 'person:ann', found({ name: 'ann' }))
    await kept(run, 2, 'person:bo', found({ name: 'jane' }, 3))
    expect(await forget(true)).toEqual({
      events: 0,
      answers: 2,
      mentions: 0,
      crm: 0,
      files: ['/a.csv'],
      otherFiles: [],
    })
    expect(await forget()).toMatchObject({ answers: 2 })
    const skipped = { status: 'skipped', error: 'forgotten', body: undefined }
    expect(await rows(run)).toEqual([
      { ordinal: 0, answer: { ...skipped, credits: 1 } },
      { ordinal: 1, answer: found({ name: 'ann' }) },
      { ordinal: 2, answer: { ...skipped, credits: 3 } },
    ])
    expect(await forget()).toEqual({
      events: 0,
      answers: 0,
      mentions: 0,
      crm: 0,
      files: [],
      otherFiles: ['/a.csv'],
    })
  })

  it('empties a text of an answer that is about something else, and keeps the rest of it', async () => {
    const run = await started('a')
    await kept(run, 0, 'company:acme', found({ description: 'Ask jane.', id: 12345678901234567890n }))
    expect(await forget()).toMatchObject({ answers: 0, mentions: 1, files: ['/a.csv'] })
    expect((await rows(run))[0]?.answer).toMatchObject({
      status: 'found',
      body: { description: null, id: 12345678901234567890n },
    })
  })

  it('also covers the answers that other runs reused', async () => {
    const [first, second] = [await started('a'), await started('b')]
    await runsOver(state).addFiles(second, written('/b.out.csv', '/b.rejects.csv'))
    await kept(first, 4, 'person:bo', found({ name: 'jane' }))
    expect((await claim(second, 0, 'person:bo')).one).toMatchObject({
      is: 'answered',
      outcome: { source: 'store' },
    })
    expect(await forget()).toEqual({
      events: 0,
      answers: 2,
      mentions: 0,
      crm: 0,
      files: ['/a.csv', '/b.csv', '/b.out.csv', '/b.rejects.csv'],
      otherFiles: [],
    })
    expect((await rows(second))[0]?.answer).toMatchObject({ status: 'skipped', body: undefined })
  })

  it('keeps answers for duplicate rows of the same run, so that none is paid again', async () => {
    const run = await started('a')
    await kept(run, 0, 'person:jane', found({ name: 'x' }))
    await forget()
    const ofEqual = (await claim(run, 1, 'person:jane')).one
    expect(ofEqual).toMatchObject({ is: 'answered', outcome: { answer: { status: 'skipped' }, credits: 0 } })
    expect((await claim(await started('b'), 0, 'person:jane')).one).toMatchObject({ is: 'ask' })
    expect((await claim(run, 2, 'person:joe')).one).toMatchObject({ is: 'ask' })
  })

  it('forgets the keys of calls with an open outcome that name them', async () => {
    const { take } = serverMemory(state, 'https://api.example')
    const call = { operation: 'leads.enrich', now }
    for (const fresh of ['jane-1', 'ann-1']) await take({ ...call, fingerprint: fresh, fresh })
    await forget()
    const kept = 'SELECT idempotency_key AS key FROM open_calls'
    expect(await state.read((connection) => connection.all(kept))).toEqual([{ key: 'ann-1' }])
  })

  it('removes what killed lookups sent about them', async () => {
    const single = await started('single', { identityKey: `${lookupsMark}0` })
    for (const [at, email] of ['jane', 'ann'].entries()) {
      const { lookups } = await claim(single, at, email, { email })
      await lookups.release(at)
    }
    await forget()
    const sent = 'SELECT input FROM lookups WHERE input IS NOT NULL'
    expect(await state.read((reads) => reads.all(sent))).toEqual([{ input: '{"email":"ann"}' }])
  })

  it('removes a lookup that is under way for good: its answer brings back only what it cost', async () => {
    const run = await started('a')
    const { lookups, one } = await claim(run, 0, 'person:jane', { email: 'jane' })
    await forget()
    if (one?.is !== 'ask') throw new Error('it was not asked')
    const answer = found({ email: 'jane' }, 2)
    await lookups.settle([{ ...rowOf(0, 'person:jane'), answer, source: 'live', ask: one.ask }])
    expect(await rows(run)).toMatchObject([{ answer: { status: 'skipped', body: undefined, credits: 2 } }])
    expect(await runsOver(state).list()).toMatchObject([{ credits: 2, reserved: 0 }])
  })

  it('empties the names of files that are theirs, which it names once', async () => {
    const run = await started('a', { file: '/jane.csv', output: '/jane.out.csv' })
    await runsOver(state).addFiles(run, written('/jane.out.csv', '/other.csv'))
    await kept(run, 0, 'person:jane', found({ name: 'x' }))
    const all = ['/jane.csv', '/jane.out.csv', '/other.csv']
    expect(await forget(true)).toMatchObject({ files: all })
    expect(await forget()).toMatchObject({ files: all })
    expect(await forget(true)).toMatchObject({ files: [], otherFiles: ['/other.csv'] })
    expect((await runsOver(state).list()).map(({ file, output }) => [file, output])).toEqual([['', null]])
  })

  it('counts the same before and after, also where a row took an answer under another identity', async () => {
    const [first, second] = [await started('a'), await started('b')]
    await kept(first, 0, 'company:acme', found({ name: 'jane' }))
    await claim(second, 0, 'company:acme')
    const would = await forget(true)
    expect(would).toMatchObject({ answers: 2, files: ['/a.csv', '/b.csv'] })
    expect(await forget()).toEqual(would)
  })

  it('skips a lookup about them that is under way, and keeps what it may cost set aside', async () => {
    const run = await started('a')
    await claim(run, 0, 'person:jane', { email: 'jane' })
    await forget()
    const again = await claim(run, 0, 'person:jane', { email: 'jane' })
    expect(again.one).toMatchObject({ is: 'answered', outcome: { answer: { status: 'skipped' } } })
    const [{ reserved } = { reserved: 0 }] = await runsOver(state).list()
    expect(reserved).toBe(3)
    await claim(run, 1, 'person:ann')
    // Both may be charged: nothing is left for sending one again.
    const lookups = await lookupsFor(state, run, { budgets: { perRun: 3 } })
    expect(await lookups.claim([{ ...rowOf(1, 'person:ann'), input: {} }])).toMatchObject([{ is: 'short' }])
  })

  it('empties what was typed for a run about them', async () => {
    await started('a', { request: '{"constants":{"email":"jane"}}' })
    await started('b', { request: '{"constants":{}}' })
    await forget()
    expect((await runsOver(state).list()).map(({ request }) => request)).toEqual([
      '{"constants":{}}',
      '{"constants":{"email":""}}',
    ])
  })
})

describe('erasing a person from received events', () => {
  let events: Events
  beforeEach(async () => {
    state = await openState(':memory:')
    events = eventsOver(state)
  })

  it('deletes events that mention them, and does not accept them again', async () => {
    await events.keep({ ...event, id: '1', body: '{"a":"Ask j\\u0061ne"}' })
    await events.keep({ ...event, id: '2', body: '{"a":"ann"}' })
    await events.keep({ ...event, id: '3', body: 'no JSON, jane' })
    expect(await forget()).toMatchObject({ events: 2 })
    expect((await events.list({}, 'oldest', 9)).map(({ id }) => id)).toEqual(['2'])
    expect(await events.keep({ ...event, id: '1', body: '{"a":"Ask jane"}' })).toBe(false)
  })

  it('stops forwarding events about them, and forwards the later ones', async () => {
    await events.keep({ ...event, id: '1', body: '"jane"' }, 'http://localhost/')
    await events.keep({ ...event, id: '2', body: '"ann"' }, 'http://localhost/')
    await forget()
    const due = await events.outbox('http://localhost/').take(now, 9, 1_000)
    expect(due.map(({ delivery }) => delivery.body)).toEqual(['"ann"'])
  })
})
