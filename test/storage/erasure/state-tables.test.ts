import { beforeEach, describe, expect, it } from 'vitest'
import { parseExact, toJson } from '../../../src/api/values/json.js'
import { hashNumber, hashOf } from '../../../src/csv/identity-filter.js'
import {
  answersOf,
  equalIn,
  indexNext,
  keepAnswers,
  storedAnswer,
} from '../../../src/runs/journal/answers.js'
import type { RowAnswer } from '../../../src/runs/journal/journal.js'
import { type NewRun, type Run, runsOver } from '../../../src/runs/journal/runs.js'
import { lookupsOver } from '../../../src/runs/journal/single-lookups.js'
import { type Driver, toPlace } from '../../../src/storage/driver/connection.js'
import { eraseFromState } from '../../../src/storage/erasure/erase.js'
import type { SubjectMatcher } from '../../../src/storage/erasure/traversal.js'
import { openState } from '../../../src/storage/state/open.js'
import { serverMemory } from '../../../src/storage/state/remote-servers.js'
import { type Events, eventsOver } from '../../../src/storage/state/webhook-inbox.js'
import { newRun } from '../../runs/fakes.js'
import { states } from '../../support/states.js'

const now = Date.parse('2026-03-10T12:00:00Z')

const has = (value: unknown, word: string) => toJson(value).includes(word)

/** Everything that says jane; what says it at length only mentions her. */
const jane: SubjectMatcher = {
  mentions: (value) => has(value, 'jane'),
  isAbout: (value) => has(value, '"jane"'),
  redact: <T>(value: T) =>
    has(value, 'jane') ? (parseExact(toJson(value).replaceAll('jane', '…')) as T) : value,
  redactName: (text) => text,
}

let state: Driver

const runOf = (id: string, more: Partial<NewRun> = {}): NewRun =>
  newRun({ id, identityKey: id, file: `/${id}.csv`, ...more })
const started = (id: string, more?: Partial<NewRun>): Promise<Run> => runsOver(state).add(runOf(id, more))

const found = (body: unknown, credits = 1): RowAnswer => ({ status: 'found', error: null, body, credits })
const hashed = (identity: string) => ({
  identity,
  hash: hashNumber(hashOf(identity)),
  repeats: true,
  most: 1,
})
const kept = (run: Run, ordinal: number, identity: string, answer: RowAnswer, origin?: number) =>
  state.transaction((connection) =>
    keepAnswers(
      connection,
      run.number,
      [{ ordinal, ...hashed(identity), answer, source: origin === undefined ? 'live' : 'store', origin }],
      now,
    ),
  )
const indexed = (run: Run) =>
  state.transaction((connection) => indexNext(connection, run.number, toPlace(run.number, 0) - 1))
const forget = (dryRun = false) => eraseFromState(state, jane, now, dryRun)
const rows = async (run: Run) =>
  (await state.read((connection) => answersOf(connection, run.number, 0, 9))).map(
    ({ answeredAt: _, ...rest }) => rest,
  )

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
    expect(await forget(true)).toEqual({ events: 0, answers: 2, files: ['/a.csv'], otherFiles: [] })
    expect(await forget()).toMatchObject({ answers: 2 })
    const skipped = { status: 'skipped', error: 'forgotten', body: undefined }
    expect(await rows(run)).toEqual([
      { ordinal: 0, answer: { ...skipped, credits: 1 }, source: 'live' },
      { ordinal: 1, answer: found({ name: 'ann' }), source: 'live' },
      { ordinal: 2, answer: { ...skipped, credits: 3 }, source: 'live' },
    ])
    expect(await forget()).toEqual({ events: 0, answers: 0, files: [], otherFiles: ['/a.csv'] })
  })

  it('redacts them in answers that only mention them', async () => {
    const run = await started('a')
    await kept(run, 0, 'company:acme', found({ description: 'Ask jane.', id: 12345678901234567890n }))
    expect(await forget()).toMatchObject({ answers: 1 })
    expect((await rows(run))[0]?.answer).toMatchObject({
      status: 'found',
      body: { description: 'Ask ….', id: 12345678901234567890n },
    })
  })

  it('also covers the answers that other runs reused', async () => {
    const [first, second] = [await started('a'), await started('b')]
    await runsOver(state).addFiles(second, ['/b.out.csv', '/b.rejects.csv'])
    await kept(first, 4, 'person:bo', found({ name: 'jane' }))
    await kept(second, 0, 'person:bo', found({ name: 'jane' }), toPlace(first.number, 4))
    expect(await forget()).toEqual({
      events: 0,
      answers: 2,
      files: ['/a.csv', '/b.csv', '/b.out.csv', '/b.rejects.csv'],
      otherFiles: [],
    })
    expect((await rows(second))[0]?.answer).toMatchObject({ status: 'skipped', body: undefined })
  })

  it('keeps answers for duplicate rows of the same run, so that none is paid again', async () => {
    const run = await started('a')
    await kept(run, 0, 'person:jane', found({ name: 'x' }))
    await indexed(run)
    await forget()
    const { hash, identity } = hashed('person:jane')
    await state.read(async (connection) => {
      expect(await equalIn(connection, run.number, 1, hash, identity)).toMatchObject({ status: 'skipped' })
      expect(await storedAnswer(connection, { ...run, hash, identity }, 0)).toBeUndefined()
      expect(await equalIn(connection, run.number, 1, hash + 1, identity)).toBeUndefined()
    })
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
    const { takeTurn, endTurn } = lookupsOver(state)
    const options = { isAlive: async () => false, notBefore: 0 }
    for (const email of ['jane', 'ann']) {
      const { hash, identity } = hashed(email)
      const asked = { ...runOf(email, { identityKey: 'lookups-0' }), hash, identity, input: { email } }
      const turn = await takeTurn(asked, options, now)
      if (turn) await endTurn(turn, false, now)
    }
    await forget()
    const turns = await state.read((reads) => reads.all<{ calls: string }>('SELECT calls FROM turns'))
    expect(turns.map(({ calls }) => (JSON.parse(calls) as unknown[][])[0]?.[2])).toEqual([{ email: 'ann' }])
  })

  it('removes what was typed for a run about them', async () => {
    await started('a', { request: '{"constants":{"email":"jane"}}' })
    await started('b', { request: '{"constants":{}}' })
    await forget()
    expect((await runsOver(state).list()).map(({ request }) => request)).toEqual([
      '{"constants":{}}',
      '{"constants":{"email":"…"}}',
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
