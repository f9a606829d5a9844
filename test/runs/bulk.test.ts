import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Caller,
  type CallOptions,
  ConnectionLost,
  type Input,
  type Reply,
} from '../../src/api/calls/caller.js'
import { ApiError, errorBody, type Note } from '../../src/api/calls/errors.js'
import type { LookupOptions, Lookups } from '../../src/lookups/store.js'
import { acceptedIn } from '../../src/runs/bulk.js'
import { execute } from '../../src/runs/execute.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { createLayout } from '../../src/runs/output/columns.js'
import { rowFormats } from '../../src/runs/output/formats.js'
import { createWriter } from '../../src/runs/output/writer.js'
import type { Batch, BulkRequests } from '../../src/runs/ports.js'
import { type Driver, readNumber } from '../../src/storage/driver/connection.js'
import { states } from '../support/databases.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { newFolder } from '../support/new-folder.js'
import { type BulkTarget, bulkTarget, price } from './bulk-target.js'
import { companyBatch, csvOf, domainsOf, fakeTime, lookupsFor, memorySink, newRun, reply } from './fakes.js'

describe.each(states())('%s', (name, open) => {
  const folder = perFile(newFolder)

  const bulkRequests: BulkRequests = {
    operation: 'contacts.bulk_enrich',
    reader: 'contacts.get',
    into: 'contacts',
    shared: ['country'],
    least: 2,
    most: 10,
  }

  const record = async (driver: Driver) => (await runsOver(driver).find('run-1'))[0] as Run

  /** A machine with one run of a file. */
  async function machine(rows: readonly string[], file?: string) {
    const driver = await open()
    await runsOver(driver).add(newRun({ total: rows.length }))
    const path = file ?? folder.file(csvOf(rows))
    return {
      driver,
      /** A part of the run; `around` is put around what it asks and remembers. */
      part: async (
        target: BulkTarget,
        options: Partial<LookupOptions> = {},
        around: (one: { lookups: Lookups; caller: Caller }) => Partial<Batch> = () => ({}),
      ) => {
        const { begin } = runsOver(driver)
        await begin(await record(driver), { file: path, output: null, request: '{}' }, 1_000_000)
        const lookups = await lookupsFor(driver, await record(driver), {
          isTogether: true,
          mayRepeat: (await target.caller.supportsIdempotency?.()) ?? true,
          ...options,
        })
        const sink = memorySink()
        const batch = await companyBatch(path, target.caller, sink)
        const results = ['domain', 'email', 'custom'].map((name) => ({ name, path: [name] }))
        const writer = createWriter(sink, rowFormats.csv.create(createLayout(batch.table.header, results)))
        const ended = execute({
          ...batch,
          lookups,
          writer,
          bulkRequests,
          operation: 'contacts.enrich_sync' as const,
          most: () => price,
          ...around({ lookups, caller: target.caller }),
        })
        return { ended, rows: () => parse(sink.text(), { columns: true }) as Record<string, string>[] }
      },
      run: () => record(driver),
    }
  }

  /** A caller that is asked otherwise: what `other` does not answer goes on to the target. */
  const instead =
    (other: (id: string, input: Input, options: CallOptions) => unknown) =>
    ({ caller }: { caller: Caller }): Partial<Batch> => ({
      caller: {
        ...caller,
        call: async (id, input, options = {}) =>
          (other(id, input as Input, options) as Reply | undefined) ?? caller.call(id, input, options),
      },
    })

  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  const credits = (rows: readonly Record<string, string>[]) =>
    rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)

  describe('rows that are sent together', () => {
    test('are matched to their replies, in requests of the largest size, a single remaining row alone', async () => {
      const target = bulkTarget(1_000, { told: (contacts) => [...contacts].reverse() })
      const rows = domainsOf(31).map((name, at) => (at % 4 === 3 ? `no-${name}` : name))
      const { part, run: now } = await machine(rows)
      const { ended, rows: written } = await part(target)
      expect(await ended).toMatchObject({ rows: 31, found: 24, not_found: 7, credits: 72 })
      expect(target.sizes.toSorted((one, other) => one - other)).toEqual([1, 10, 10, 10])
      expect(written().map(({ domain, email, _credits }) => [domain, email, _credits])).toEqual(
        rows.map((name) => (name.startsWith('no') ? [name, '', '0'] : [name, `someone@${name}`, '3'])),
      )
      expect(new Set(written().map(({ custom }) => custom))).toEqual(new Set(['']))
      expect(await now()).toMatchObject({ status: 'finished', credits: 72, reserved: 0 })
      expect(target.credits).toBe(1_000 - 72)
    })

    test('are collected, once they were accepted for a run that was killed, by another one with some of them in other rows', async () => {
      const target = bulkTarget(1_000)
      const { driver, part, run } = await machine(domainsOf(4))
      const never = new Promise<never>(() => {})
      void (
        await part(
          target,
          {},
          instead((id) => (id === 'contacts.get' ? never : undefined)),
        )
      ).ended
      const accepted = `SELECT count(*) FROM lookups WHERE state = 'accepted'`
      await expect.poll(() => driver.read((reads) => readNumber(reads, accepted))).toBe(4)
      const other = await runsOver(driver).add(newRun({ id: 'run-2', identityKey: 'other' }))
      const given = { maxAgeMs: 1_000, isAlive: async () => false, isTogether: true }
      const sink = memorySink()
      const rows = ['d3.example', 'x.example', 'd0.example', 'y.example']
      const batch = await companyBatch(folder.file(csvOf(rows)), target.caller, sink, {
        lookups: await lookupsFor(driver, other, given),
        bulkRequests,
        operation: 'contacts.enrich_sync',
        most: () => price,
      })
      const results = ['domain', 'email'].map((name) => ({ name, path: [name] }))
      const layout = rowFormats.csv.create(createLayout(batch.table.header, results))
      expect(await execute({ ...batch, writer: createWriter(sink, layout) })).toMatchObject({
        found: 4,
        credits: 12,
      })
      const written = parse(sink.text(), { columns: true }) as Record<string, string>[]
      expect(written.map(({ email }) => email)).toEqual(rows.map((name) => `someone@${name}`))
      expect([target.sizes, [...target.paid.values()]]).toEqual([
        [4, 2],
        [1, 1, 1, 1, 1, 1],
      ])
      expect(await run()).toMatchObject({ reserved: 2 * price })
      expect((await runsOver(driver).find('run-2'))[0]).toMatchObject({ reserved: 0, credits: 12 })
    })

    test('are matched by the ids of the target when it does not return custom values', async () => {
      const target = bulkTarget(1_000, {
        told: (contacts) => contacts.toReversed().map(({ custom: _, ...rest }) => rest),
      })
      const { part } = await machine(domainsOf(9))
      const { ended, rows } = await part(target)
      expect(await ended).toMatchObject({ found: 9 })
      expect(rows().every(({ domain, email }) => email === `someone@${domain}`)).toBe(true)
    })

    test('share a request only when they ask for the same things', async () => {
      const target = bulkTarget(1_000)
      const lines = domainsOf(12).map((name, at) => `${name},${at % 2 === 0 ? 'FR' : 'DE'}`)
      const asked: unknown[] = []
      const file = folder.file(`domain,country\n${lines.join('\n')}\n`)
      const { part } = await machine(lines, file)
      const noting = instead((id, { country }) => {
        if (id === 'contacts.bulk_enrich') asked.push(country)
      })
      const { ended } = await part(target, {}, noting)
      expect(await ended).toMatchObject({ found: 12 })
      expect([asked.sort(), target.sizes]).toEqual([
        ['DE', 'FR'],
        [6, 6],
      ])
    })

    test('do not include duplicates and invalid rows', async () => {
      const target = bulkTarget(1_000)
      const rows = [...domainsOf(5), ...domainsOf(5), 'bad', ...domainsOf(7)]
      const { part } = await machine(rows)
      const { ended } = await part(target, {}, () => ({
        validate: ({ input }) => {
          if (input.domain === 'bad') throw new ApiError('bad_request', { reason: 'domain' })
        },
      }))
      expect(await ended).toMatchObject({ found: 17, invalid: 1, duplicates: 10, credits: 7 * price })
      expect(target.sizes).toEqual([7])
    })

    test.each([
      ['balance', 61],
      ['weekly allowance', 61],
      ['budget', 61],
      // No request of ten fits any more, but one of five.
      ['balance', 76],
      ['weekly allowance', 76],
      ['budget', 76],
    ])('never cost more than the %s allows, and use it up: %i', async (which, most) => {
      const usable = most - (most % price)
      const target = bulkTarget(which === 'balance' ? most : 10_000)
      if (which === 'weekly allowance') target.allowance = most
      const { part, run: now } = await machine(domainsOf(60))
      const { ended, rows } = await part(target, which === 'budget' ? { budgets: { perRun: most } } : {})
      const { stopped } = await ended
      expect([stopped?.exit_code, target.spent(), credits(rows())]).toEqual([
        { balance: 4, 'weekly allowance': 5, budget: 12 }[which],
        usable,
        usable,
      ])
      // The one that stops the run is asked for by itself.
      if (which === 'balance') expect(target.refused).toBe(1)
      if (which === 'budget') expect(target.refused).toBe(0)
      expect(await now()).toMatchObject({ status: 'stopped', credits: usable, reserved: 0 })
      target.credits = target.allowance = 10_000
      const again = await part(target)
      expect(await again.ended).toMatchObject({ found: 60, credits: 180, credits_before: usable })
      expect([...target.paid.values()].every((times) => times === 1)).toBe(true)
    })

    test('wait for reservations to be released before they are sent in smaller requests', async () => {
      const target = bulkTarget(16 * price, { patience: 3 })
      const { part } = await machine(domainsOf(30).map((name) => `no-${name}`))
      const { ended } = await part(target)
      expect(await ended).toMatchObject({ not_found: 30, credits: 0 })
      expect(target.sizes).toEqual([10, 10, 10])
    })

    test('wait for the record of what others released, as the budget of the run has room only then', async () => {
      const target = bulkTarget(1_000)
      const { part } = await machine(domainsOf(20).map((name) => `no-${name}`))
      const full = Promise.withResolvers<void>()
      const { ended } = await part(target, { budgets: { perRun: 10 * price } }, ({ lookups, caller }) => {
        const [claim, settle] = [lookups.claim.bind(lookups), lookups.settle.bind(lookups)]
        Object.assign(lookups, {
          claim: async (...wanted: Parameters<typeof claim>) => {
            const claims = await claim(...wanted)
            if (claims.some(({ is }) => is === 'short')) setImmediate(full.resolve)
            return claims
          },
          settle: async (...rows: Parameters<typeof settle>) => {
            await turns(50)
            await settle(...rows)
          },
        })
        const held: Caller['call'] = async (id, ...more) => {
          if (id === 'contacts.get') await full.promise
          return caller.call(id, ...more)
        }
        return { caller: { ...caller, call: held } }
      })
      expect(await ended).toMatchObject({ not_found: 20, credits: 0 })
      expect(target.sizes).toEqual([10, 10])
    })

    test('are at most 16 requests at once', async () => {
      const target = bulkTarget(1_000)
      const { part } = await machine(domainsOf(80))
      const full = Promise.withResolvers<void>()
      let atOnce = 0
      const { ended } = await part(target, {}, ({ caller }) => ({
        bulkRequests: { ...bulkRequests, most: 2 },
        concurrency: 64,
        caller: {
          ...caller,
          call: async (id, ...more) => {
            if (id === 'contacts.get') await full.promise
            const answer = await caller.call(id, ...more)
            if (id === 'contacts.bulk_enrich' && target.sizes.length === 16)
              void turns(50).then(() => {
                atOnce = target.sizes.length
                full.resolve()
              })
            return answer
          },
        },
      }))
      expect(await ended).toMatchObject({ found: 80 })
      expect([atOnce, target.sizes.length]).toEqual([16, 40])
    })

    test.each([
      [400, 'a contact is wrong', [1, 1, 1, 1]],
      [404, 'Not found', [1, 1, 1, 1]],
      [501, 'no such request', [1, 1, 1, 1]],
    ])('are sent one by one when they are refused together with %i', async (status, error, sizes) => {
      const target = bulkTarget(1_000, { bulk: () => reply(status, { error }) })
      const { part, run: now } = await machine(domainsOf(4))
      expect(await (await part(target)).ended).toMatchObject({ found: 4, credits: 12 })
      expect(target.sizes).toEqual(sizes)
      expect(await now()).toMatchObject({ reserved: 0, credits: 12 })
    })

    test('are worked on until they are done, in case their worker died', async () => {
      const target = bulkTarget(1_000, { patience: 2 })
      const worked: string[] = []
      const { part } = await machine(domainsOf(4))
      const { ended } = await part(target, {}, () => ({
        bulkRequests: { ...bulkRequests, work: async (id) => void worked.push(id) },
      }))
      expect(await ended).toMatchObject({ found: 4 })
      expect(worked).toEqual(['work-0', 'work-0', 'work-0'])
    })

    test('are polled by the id of their work however long it takes', async () => {
      const target = bulkTarget(1_000, { patience: 5 })
      const { part } = await machine(domainsOf(4))
      const polled: unknown[] = []
      const noting = instead((id, input) => {
        if (id === 'contacts.get') polled.push(input.id)
      })
      expect(await (await part(target, {}, noting)).ended).toMatchObject({ found: 4 })
      expect(polled).toEqual(Array(6).fill('work-0'))
    })

    test('are polled one by one once the target has not known their work three times', async () => {
      const target = bulkTarget(1_000, { tellsWhole: false })
      const { part } = await machine(domainsOf(2))
      const polled: unknown[] = []
      const noting = instead((id, input) => {
        if (id === 'contacts.get') polled.push(input.id)
      })
      expect(await (await part(target, {}, noting)).ended).toMatchObject({ found: 2 })
      expect(polled).toEqual(['work-0', 'work-0', 'work-0', 'work-0-0', 'work-0-1'])
    })

    test('are polled one by one when the target reports only single contacts', async () => {
      const target = bulkTarget(1_000, { tellsWhole: false })
      const { part, run: now } = await machine(domainsOf(14))
      const { ended, rows } = await part(target)
      expect(await ended).toMatchObject({ found: 14, credits: 42 })
      expect(rows().every(({ domain, email }) => email === `someone@${domain}`)).toBe(true)
      expect(await now()).toMatchObject({ status: 'finished', reserved: 0 })
    })

    test('have failed when their work ended early, and are looked up again on resume', async () => {
      const target = bulkTarget(1_000, { fails: 3 })
      const { part, run: now } = await machine(domainsOf(5))
      expect(await (await part(target)).ended).toMatchObject({ found: 3, failed: 2, credits: 9 })
      expect(await (await part(target)).ended).toMatchObject({ found: 5, credits: 15, credits_before: 9 })
      expect([target.sizes, target.spent()]).toEqual([[5, 2], 15])
      expect(await now()).toMatchObject({ credits: 15, reserved: 0 })
    })

    test('wait for a rate limit and repeat the same request', async () => {
      const busy = reply(429, { error: 'slow down' }, 0, { 'retry-after': '1' })
      const target = bulkTarget(1_000, { bulk: (_, nth) => (nth < 3 ? busy : undefined) })
      const { part } = await machine(domainsOf(4))
      const fresh: (boolean | undefined)[] = []
      const noting = instead((id, _, { row }) => {
        if (id === 'contacts.bulk_enrich') fresh.push(row?.fresh)
      })
      const time = fakeTime()
      expect(await (await part(target, {}, (one) => ({ ...noting(one), time }))).ended).toMatchObject({
        found: 4,
      })
      expect([target.sizes, fresh]).toEqual([[4], [true, false, false]])
      expect(time.slept.slice(0, 2)).toEqual([1_000, 1_000])
    })

    test.each([401, 403])('stop at a %i, and nothing is lost', async (status) => {
      const target = bulkTarget(1_000, {
        bulk: (_, nth) => (nth === 2 ? reply(status, { error: 'no' }) : undefined),
      })
      const { part, run: now } = await machine(domainsOf(35))
      const { stopped } = await (await part(target)).ended
      expect(stopped?.exit_code).toBe(3)
      expect(await (await part(target)).ended).toMatchObject({ found: 35, credits: 105 })
      expect([target.spent(), (await now()).reserved]).toEqual([105, 0])
    })
  })

  describe('a bulk request without a reply', () => {
    test('has an unknown outcome, and is sent again only on demand, behind the first row batch too', async () => {
      const target = bulkTarget(1_000, {
        supportsIdempotency: false,
        bulk: (_, nth) => (nth === 6 ? 'lost' : undefined),
      })
      const { part, run: now } = await machine(domainsOf(75))
      const first = await part(target)
      expect(await first.ended).toMatchObject({ failed: 10, found: 65 })
      expect(first.rows().filter(({ _error }) => _error === 'outcome_unknown')).toHaveLength(10)
      expect(await now()).toMatchObject({ credits: 195, reserved: 30 })
      const same = await part(target)
      expect(await same.ended).toMatchObject({ failed: 10, found: 65, credits_before: 195 })
      const sizes = [10, 10, 10, 10, 10, 10, 10, 5]
      expect(target.sizes).toEqual(sizes)
      const again = await part(target, { retryUnknown: true })
      expect(await again.ended).toMatchObject({ failed: 0, found: 75, credits: 225 })
      expect(target.sizes).toEqual([...sizes, 10])
      expect(await now()).toMatchObject({ credits: 225, reserved: 0 })
    })

    test('is sent again on resume when the target supports idempotency keys', async () => {
      const target = bulkTarget(1_000, { bulk: (_, nth) => (nth === 1 ? 'lost' : undefined) })
      const { part, run: now } = await machine(domainsOf(25))
      const stop = new AbortController()
      const interrupt = instead((id) => {
        if (id === 'contacts.get') stop.abort('SIGINT')
      })
      const first = await part(target, {}, (one) => ({ ...interrupt(one), signal: stop.signal }))
      expect((await first.ended).stopped?.exit_code).toBe(130)
      expect((await now()).reserved).toBeGreaterThanOrEqual(30)
      expect(await (await part(target)).ended).toMatchObject({ found: 25, failed: 0, credits: 75 })
      expect([target.spent(), (await now()).reserved]).toEqual([75, 0])
    })
  })

  test.each([
    ['contacts.bulk_enrich', 4],
    ['contacts.get', 4],
    ['contacts.enrich_sync', 1],
  ])('a fault in %s for %i rows ends the run with it, and it is resumed', async (faulty, count) => {
    const target = bulkTarget(1_000)
    const { part, run: now } = await machine(domainsOf(count))
    const broken = instead((id) => {
      if (id === faulty) throw new TypeError('out of order')
    })
    await expect((await part(target, {}, broken)).ended).rejects.toThrow('out of order')
    expect(await (await part(target)).ended).toMatchObject({ found: count })
    expect(await now()).toMatchObject({ credits: count * price, reserved: 0 })
  })

  describe('results that cannot be read', () => {
    test.each([
      ['the target refuses', reply(400, { error: 'Bad request' }), 10, true],
      ['the key is wrong', reply(401, { error: 'Invalid API key' }), 3, true],
      ['the target does not answer', undefined, 10, true],
      ['the key is wrong for single contacts', reply(401, { error: 'Invalid API key' }), 3, false],
      ['the target does not answer for single contacts', undefined, 10, false],
    ])('end the run where %s, and are read when it is resumed', async (_, refusal, exit, tellsWhole) => {
      const target = bulkTarget(1_000, { tellsWhole })
      const { part, run: now } = await machine(domainsOf(4))
      const unread = instead((id, input) => {
        if (!tellsWhole && input.id === 'work-0') return undefined
        if (id === 'contacts.get' && !refusal) throw new ConnectionLost('gone', false)
        return id === 'contacts.get' ? refusal : undefined
      })
      const { stopped } = await (await part(target, {}, unread)).ended
      expect(stopped).toMatchObject({
        exit_code: exit,
        reason: expect.stringContaining('The results of accepted rows cannot be read: '),
      })
      expect(await (await part(target)).ended).toMatchObject({ found: 4 })
      expect([target.sizes, await now()]).toMatchObject([[4], { credits: 4 * price, reserved: 0 }])
    })
  })

  describe('a request whose outcome the engine does not know', () => {
    const lostAtCommit = reply(503, errorBody(new ApiError('outcome_unknown')))

    test.each([
      ['for several rows', 4, lostAtCommit, 10],
      ['for one row', 1, lostAtCommit, 10],
      ['for several rows, with no reason', 4, reply(500, { error: 'Internal server error' }), undefined],
      ['for one row, with no reason', 1, reply(500, { error: 'Internal server error' }), undefined],
    ])('%s is sent again under its key', async (_, count, refusal, exit) => {
      const target = bulkTarget(1_000)
      const { part, run: now } = await machine(domainsOf(count))
      const keys: unknown[] = []
      const first = await part(target, {}, ({ caller }) => ({
        caller: {
          ...caller,
          call: async (id, input, options = {}) => {
            const answer = await caller.call(id, input, options)
            if (id === 'contacts.get' || id === 'credits.show') return answer
            keys.push(options.idempotencyKey)
            return refusal
          },
        },
      }))
      const { stopped } = await first.ended
      expect([stopped?.exit_code, (await now()).reserved]).toEqual([exit, count * price])
      const noteKey = instead((id, _input, { idempotencyKey }) => {
        if (id.startsWith('contacts.') && id !== 'contacts.get') keys.push(idempotencyKey)
      })
      expect(await (await part(target, {}, noteKey)).ended).toMatchObject({ found: count })
      expect([keys.length, new Set(keys).size, target.sizes]).toEqual([2, 1, [count]])
      expect(await now()).toMatchObject({ credits: count * price, reserved: 0 })
    })

    test('is not forgotten when the repetition gets no reply either', async () => {
      const target = bulkTarget(1_000)
      const { part } = await machine(domainsOf(4))
      const { around, isKilled } = killing(3, false)
      await part(target, {}, around)
      await isKilled
      const unheard = instead((id) => {
        if (id === 'contacts.bulk_enrich') throw new ConnectionLost('refused', false)
      })
      expect(await (await part(target, {}, unheard)).ended).toMatchObject({ failed: 4 })
      expect(await (await part(target)).ended).toMatchObject({ found: 4, credits: 12 })
      expect([target.sizes, target.spent()]).toEqual([[4], 12])
    })
  })

  test('rows whose answer was that to another request are counted as in doubt, and are not sent again', async () => {
    const target = bulkTarget(1_000)
    const stray = {
      ...reply(502, { error: 'Another request' }),
      unknown: true as const,
      isSuspect: true as const,
    }
    const { part } = await machine(domainsOf(3))
    const strays = instead((id) => (id === 'contacts.bulk_enrich' ? stray : undefined))
    const { ended } = await part(target, {}, strays)
    expect(await ended).toMatchObject({
      failed: 3,
      suspect: { discarded: { answers: 3, rows: [1, 2, 3] }, passed_on: { answers: 0 } },
    })
    expect(target.sizes).toEqual([])
  })

  describe('accepted work that the target no longer knows', () => {
    const gone = reply(404, { error: 'Not found' })
    const forgets = (ids: RegExp) =>
      instead((id, input) => (id === 'contacts.get' && ids.test(String(input.id)) ? gone : undefined))

    test.each([true, false])(
      'leaves its rows with an unknown outcome, and the run continues (supports idempotency: %s)',
      async (supportsIdempotency) => {
        const target = bulkTarget(1_000, { supportsIdempotency })
        const { part, run: now } = await machine(domainsOf(14))
        const notes: (string | Note)[] = []
        const notify = (note: string | Note) => void notes.push(note)
        const first = await part(target, {}, (one) => ({ ...forgets(/^work-0/)(one), notify }))
        expect(await first.ended).toMatchObject({ found: 4, failed: 10, credits: 12 })
        expect(notes).toEqual([{ code: 'run.results_lost', details: {} }])
        expect(first.rows().filter(({ _error }) => _error === 'outcome_unknown')).toHaveLength(10)
        expect(await now()).toMatchObject({ credits: 12, reserved: 30, status: 'finished' })
        const same = await part(target, {}, forgets(/^work-0/))
        expect(await same.ended).toMatchObject({ found: 4, failed: 10, credits_before: 12 })
        expect(target.sizes).toEqual([10, 4])
        const again = await part(target, { retryUnknown: true }, forgets(/^work-0/))
        expect(await again.ended).toMatchObject({ found: 14, failed: 0, credits: 42 })
        expect(target.sizes).toEqual([10, 4, 10])
        expect(await now()).toMatchObject({ credits: 42, reserved: 0 })
      },
    )

    test('keeps its results when the target knows it again at the tenth poll', async () => {
      const target = bulkTarget(1_000)
      const { part } = await machine(domainsOf(2))
      let polls = 0
      const late = instead((id, input) => {
        if (id !== 'contacts.get') return undefined
        if (!String(input.id).endsWith('-1')) polls++
        return polls < 10 ? gone : undefined
      })
      expect(await (await part(target, {}, late)).ended).toMatchObject({ found: 2, failed: 0, credits: 6 })
    })

    test('does not lose the other results', async () => {
      const target = bulkTarget(1_000)
      const { part, run: now } = await machine(domainsOf(6))
      const first = await part(target, {}, forgets(/^work-0(-[14])?$/))
      expect(await first.ended).toMatchObject({ found: 4, failed: 2, credits: 12 })
      expect(first.rows().map(({ _error }) => _error !== '')).toEqual([
        false,
        true,
        false,
        false,
        true,
        false,
      ])
      expect(await now()).toMatchObject({ credits: 12, reserved: 6 })
      const again = await part(target, { retryUnknown: true }, forgets(/^work-0(-[14])?$/))
      expect(await again.ended).toMatchObject({ found: 6, failed: 0, credits: 18 })
      expect([target.sizes, (await now()).reserved]).toEqual([[6, 2], 0])
    })
  })

  test.each([
    ['failed', { found: 0, failed: 3 }],
    ['canceled', { found: 0, failed: 3 }],
    ['completed', { found: 3, failed: 0 }],
  ])('work that ended as %s is not polled any more', async (status, counts) => {
    const target = bulkTarget(1_000)
    const { part } = await machine(domainsOf(3))
    let asked = 0
    const { ended } = await part(target, {}, ({ caller }) => ({
      caller: {
        ...caller,
        call: async (id, input, options) => {
          const answer = await caller.call(id, input, options)
          if (id !== 'contacts.get') return answer
          if (++asked > 20) throw new Error('it is asked for ever')
          const { contacts } = answer.body as { contacts: readonly Input[] }
          const blank = contacts.map((contact) => ({ ...contact, email: null, credits_used: 0 }))
          return reply(200, { status, contacts: counts.found > 0 ? contacts : blank })
        },
      },
    }))
    expect(await ended).toMatchObject(counts)
  })

  test('duplicates of a row with an unknown outcome wait for it', async () => {
    const target = bulkTarget(1_000, {
      supportsIdempotency: false,
      bulk: (_, nth) => (nth === 1 ? 'lost' : undefined),
    })
    const rows = [...domainsOf(60), ...domainsOf(10)]
    const { part, run: now } = await machine(rows)
    const counts = { found: 50, failed: 20, duplicates: 10 }
    expect(await (await part(target)).ended).toMatchObject(counts)
    expect(await (await part(target)).ended).toMatchObject(counts)
    expect([target.sizes, (await now()).reserved]).toEqual([[10, 10, 10, 10, 10, 10], 30])
    expect(await (await part(target, { retryUnknown: true })).ended).toMatchObject({ found: 70, failed: 0 })
    expect(target.sizes).toHaveLength(7)
  })

  /** The process ends at the nth thing it does: whatever it asked for may be done, and it hears of nothing more. */
  function killing(nth: number, before: boolean) {
    const never = new Promise<never>(() => {})
    let left = nth
    let killed: () => void = () => {}
    const isKilled = new Promise<'killed'>((resolve) => {
      killed = () => resolve('killed')
    })
    const guarded =
      <A extends unknown[], T>(act: (...given: A) => Promise<T>) =>
      async (...given: A): Promise<T> => {
        const isLast = --left === 0
        if (left < 0 || (isLast && before)) {
          killed()
          return never
        }
        const done = await act(...given)
        if (!isLast) return left < 0 ? never : done
        killed()
        return never
      }
    /** Guards methods of an object. */
    const guard = <T extends object>(one: T, names: readonly (keyof T)[]): void => {
      for (const name of names)
        Object.assign(one, { [name]: guarded((one[name] as () => Promise<unknown>).bind(one)) })
    }
    const around = ({ lookups, caller }: { lookups: Lookups; caller: Caller }): Partial<Batch> => {
      guard(lookups, ['claim', 'together', 'apart', 'accept', 'settle', 'withdraw', 'end'])
      return { caller: { ...caller, call: guarded(caller.call) } }
    }
    return { around, isKilled }
  }

  const early = { at: 1, before: true, credits: 150, budget: 150 }

  test('a run that is killed at any point pays once for each contact, loses none and exceeds no budget', async () => {
    const outcomes = { killed: 0, ended: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          picks: fc.array(fc.nat({ max: 70 }), { minLength: 1, maxLength: 90 }),
          patience: fc.nat({ max: 3 }),
          parts: fc.array(
            fc.record({
              // Most parts end after few steps, so most kills are early.
              at: fc.oneof(
                { arbitrary: fc.integer({ min: 1, max: 4 }), weight: 2 },
                fc.integer({ min: 5, max: 24 }),
              ),
              before: fc.boolean(),
              credits: fc.nat({ max: 150 }),
              budget: fc.nat({ max: 150 }),
            }),
            { minLength: 2, maxLength: 6 },
          ),
        }),
        async ({ picks, patience, parts }) => {
          const rows = picks.map((pick) => `${pick % 3 === 0 ? 'no' : 'd'}${pick}.example`)
          const target = bulkTarget(0, { patience })
          const { part, run: now, driver } = await machine(rows)
          let perRun = 0
          for (const { at, before, credits: more, budget } of parts) {
            target.credits += more
            perRun += budget
            const { around, isKilled } = killing(at, before)
            const { ended } = await part(target, { budgets: { perRun } }, around)
            const outcome = await Promise.race([isKilled, ended.then(() => 'ended' as const)])
            outcomes[outcome]++
            const { credits: counted, reserved } = await now()
            expect(counted + reserved).toBeLessThanOrEqual(perRun)
            expect(target.spent() + target.held()).toBeLessThanOrEqual(counted + reserved)
          }
          target.credits += 10_000
          const last = await part(target)
          expect((await last.ended).stopped).toBeUndefined()
          const found = new Set(rows.filter((name) => name.startsWith('d')))
          expect(target.paid).toEqual(new Map([...target.paid.keys()].map((name) => [name, 1])))
          expect(new Set(target.paid.keys())).toEqual(found)
          const written = last.rows()
          expect(written.map(({ domain }) => domain)).toEqual(rows)
          expect(written.map(({ email }) => email !== '')).toEqual(rows.map((name) => found.has(name)))
          expect(credits(written)).toBe(target.spent())
          expect(await now()).toMatchObject({ status: 'finished', credits: target.spent(), reserved: 0 })
          const open = `SELECT row FROM lookups WHERE state IN ('asked', 'accepted') OR held <> 0`
          expect(await driver.read((one) => one.all(open))).toEqual([])
        },
      ),
      {
        numRuns: name === 'SQLite' ? tries(12, 60) : tries(2, 8),
        timeout: 30_000,
        // One run that is killed at its first step in any case.
        examples: [[{ picks: [1, 2, 4, 5], patience: 0, parts: [early, { ...early, before: false }] }]],
      },
    )
    expect(outcomes.killed).toBeGreaterThan(name === 'SQLite' ? tries(4, 20) : 0)
  })
})

test.each([
  [
    'in their order, where no item names its row',
    [{ enrichment_id: 'a' }, { enrichment_id: 'b' }],
    ['a', 'b'],
  ],
  [
    'to the row that an item names',
    [
      { enrichment_id: 'b', custom: { prospect_row: '6' } },
      { enrichment_id: 'a', custom: { prospect_row: '5' } },
    ],
    ['a', 'b'],
  ],
  ['to no row, where there are fewer of them than rows', [{ enrichment_id: 'a' }], [null, null]],
])('the ids of accepted work belong %s', (_, contacts, parts) => {
  expect(acceptedIn({ enrichment_id: 'whole', contacts }, [4, 5], 'contacts')?.parts).toEqual(parts)
})
