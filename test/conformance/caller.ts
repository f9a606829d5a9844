import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import { type OperationId, operations } from '../../src/api/operations/table.js'
import type { Admin } from '../../src/engine/admin/admin.js'
import type { Bench } from '../support/engine.js'

/** A caller under test, and the engine behind it. */
export interface Subject {
  readonly caller: Caller
  readonly bench: Bench
  /** What it takes from whoever asks, where that is not the engine's own key. */
  readonly key?: string
  /** Who administers the members of those keys, where that is not the engine. */
  readonly members?: Admin
  close(): Promise<void>
}

const uuid = '7f6f2d0e-5d0c-4d8e-9b0a-2f6f3f0f1a11'

/** What every caller must do, whether it is the engine itself or something in front of it. */
export function describeCaller(name: string, open: () => Promise<Subject>): void {
  describe(`caller: ${name}`, () => {
    let subject: Subject
    const call = (id: OperationId, input: Input, options: CallOptions = {}): Promise<Reply> =>
      subject.caller.call(id, input, { apiKey: subject.key ?? subject.bench.key, ...options })

    beforeEach(async () => {
      subject = await open()
    })
    afterEach(() => subject.close())

    it('returns a success with the operation’s status and a body of its schema', async () => {
      const successes = [
        ['accounts.enrich', { domain: 'known.example' }],
        ['accounts.technologies', { query: 'r', limit: 2 }],
        ['credits.show', {}],
        ['credits.consumption', { start_date: '2026-03-01', end_date: '2026-03-31' }],
        ['account.show', {}],
      ] as const
      for (const [id, input] of successes) {
        const reply = await call(id, input)
        expect(reply.status, id).toBe(200)
        const { output } = await shapeOf(id)
        expect(output.parse(reply.body), id).toEqual(reply.body)
      }
    })

    it('charges for what it found', async () => {
      await call('accounts.enrich', { domain: 'known.example' })
      await call('accounts.enrich', { domain: 'nobody.example' })
      expect((await call('credits.show', {})).body).toMatchObject({ credits: { enrichment: 999 } })
    })

    it('reads fields of a query as typed values', async () => {
      const reply = await call('accounts.technologies', { limit: 1 })
      expect(reply.body).toMatchObject({ technologies: [expect.anything()] })
      expect((await call('accounts.technologies', { limit: 0 })).status).toBe(422)
    })

    it.each([
      ['accounts.enrich', {}, 400],
      ['accounts.enrich', { domain: 7 }, 422],
      ['accounts.enrich', { domain: 'known.example', live: 'yes' }, 422],
      ['accounts.enrich', { domain: 'known.example', country: 'France' }, 422],
      ['accounts.enrich', { domain: 'nobody.example' }, 404],
      ['credits.consumption', { start_date: '2026-03-02', end_date: '2026-03-01' }, 422],
      ['lists.get', { id: uuid }, 404],
    ] as const)('refuses %s %j with %i and an error of words', async (id, input, status) => {
      const reply = await call(id, input)
      expect(reply.status).toBe(status)
      expect(reply.body).toEqual({ error: expect.stringMatching(/\w/) })
    })

    it('returns its own errors with a number when the operation does', async () => {
      const reply = await call('accounts.hiring', { limit: 0, company_domain: 'known.example' })
      expect(reply).toMatchObject({ status: 422, body: { error: 422, message: expect.any(String) } })
    })

    it('refuses a caller without a key', async () => {
      for (const apiKey of [undefined, 'pk_wrong']) {
        const reply = await subject.caller.call('credits.show', {}, { apiKey })
        expect(reply).toMatchObject({ status: 401, body: { error: 'Invalid API key' } })
      }
    })

    it('returns 402 with a code and where to buy credits, then 403 with a code and no such place', async () => {
      await subject.bench.admin.setCredits(0)
      await subject.bench.admin.changeMember('me@localhost', { weeklyLimit: 0 })
      const empty = await call('accounts.enrich', { domain: 'known.example' })
      expect(empty.status).toBe(402)
      expect(empty.body).toEqual({
        error: 'Insufficient credits: need 1 credits, have 0',
        code: 'insufficient_credits',
        top_up_url: expect.stringMatching(/^http.*\/top-up$/),
      })
      await subject.bench.admin.addCredits(1)
      const limited = await call('accounts.enrich', { domain: 'known.example' })
      expect(limited.status).toBe(403)
      expect(Object.keys(limited.body as object)).toEqual(['error', 'code'])
    })

    describe('P59: the weekly limit of a member', () => {
      const enrich = (domain: string, options?: CallOptions) => call('accounts.enrich', { domain }, options)
      const limit = async (weeklyLimit: number | null) => {
        const { members, bench } = subject
        await (members ?? bench.admin).changeMember('me@localhost', { weeklyLimit })
      }

      it('lets exactly as much be spent, however many calls come at once, found or not', async () => {
        await limit(10)
        const misses = Array.from({ length: 10 }, () => enrich('nobody.example'))
        const hits = Array.from({ length: 25 }, () => enrich('known.example'))
        const replies = await Promise.all([...misses, ...hits])
        const withStatus = (status: number) => replies.slice(10).filter((reply) => reply.status === status)
        expect([withStatus(200).length, withStatus(403).length]).toEqual([10, 15])
        expect(withStatus(403)[0]?.body).toMatchObject({ code: 'workspace_limit_exceeded' })
        expect(await subject.bench.balance()).toBe(990)
        const { members, bench } = subject
        const other = { email: 'other@localhost', weeklyLimit: 1 }
        await (members ?? bench.admin).addMember(other)
        const { key: apiKey } = await (members ?? bench.admin).createKey({ member: other.email })
        const others = await Promise.all([1, 2].map(() => enrich('known.example', { apiKey })))
        expect(others.map(({ status }) => status).sort()).toEqual([200, 403])
        await limit(null)
        expect((await enrich('known.example')).status).toBe(200)
      })

      it('is checked behind everything else that may refuse a request, and lets free answers pass', async () => {
        await limit(1)
        expect((await enrich('known.example', { idempotencyKey: 'first' })).status).toBe(200)
        const again = await enrich('known.example', { idempotencyKey: 'first' })
        expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true'])
        const reused = await enrich('other.example', { idempotencyKey: 'first' })
        expect(reused).toMatchObject({ status: 409, body: { code: 'idempotency_key_reused' } })
        expect((await call('accounts.enrich', {})).status).toBe(400)
        expect((await call('accounts.enrich', { domain: 7 })).status).toBe(422)
        expect((await call('accounts.technologies', {})).status).toBe(200)
        expect((await enrich('nobody.example')).status).toBe(403)
        await subject.bench.admin.setCredits(0)
        expect(await enrich('known.example')).toMatchObject({
          status: 402,
          body: { code: 'insufficient_credits', error: 'Insufficient credits: need 1 credits, have 0' },
        })
      })

      it('reduces the jobs that a company search returns, and holds what accepted work can cost', async () => {
        const company_domain = 'known.example'
        subject.bench.source.openJobs = 3
        await limit(2)
        const hiring = await call('accounts.hiring', { company_domain, limit: 3 })
        const { jobs } = hiring.body as { readonly jobs: readonly unknown[] }
        expect([hiring.status, jobs.length]).toEqual([200, 2])
        expect(hiring.body).toMatchObject({ total_jobs: 3, truncated: true })
        expect((await call('accounts.hiring', { company_domain, limit: 3 })).status).toBe(403)
        await limit(35)
        const contact = {
          network_url: 'https://www.network.example/in/ada',
          webhook_url: 'https://hooks.example/',
        }
        const ask = { ...contact, enrichment_type: ['phone'] }
        expect((await call('contacts.enrich', ask)).status).toBe(201)
        expect((await call('contacts.enrich', ask)).status).toBe(403)
        expect((await call('contacts.enrich', { ...ask, enrichment_type: ['email'] })).status).toBe(201)
        expect((await enrich('known.example')).status).toBe(403)
      })
    })

    it('counts requests, and says when to come back', async () => {
      await subject.bench.admin.setPlan('Basic')
      const replies = []
      for (let count = 0; count < 3; count++) replies.push(await call('accounts.technologies', {}))
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(replies.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['1', '0', '0'])
      expect(replies[2]?.headers).toMatchObject({
        'retry-after': '60',
        'ratelimit-limit': '2',
        'ratelimit-reset': '60',
      })
      expect(replies[2]?.body).toEqual({ error: 'Rate limit exceeded. Please wait before retrying.' })
    })

    it('returns the stored reply of a known key byte for byte', async () => {
      const input = { domain: 'known.example', name: 'Known ✓ é 株' }
      const first = await call('accounts.enrich', input, { idempotencyKey: 'key' })
      const again = await call('accounts.enrich', input, { idempotencyKey: 'key' })
      expect(first.headers['idempotent-replayed']).toBeUndefined()
      expect(again.headers['idempotent-replayed']).toBe('true')
      expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
      const other = await call('accounts.enrich', { domain: 'other.example' }, { idempotencyKey: 'key' })
      expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_key_reused' } })
      expect(await subject.bench.balance()).toBe(999)
    })

    it('answers every operation, known to the engine or not, without a fault', async () => {
      await subject.bench.admin.setPlan('Scale')
      for (const { id } of operations()) {
        const reply = await call(id, { id: uuid, uuid })
        expect([200, 400, 404, 422, 501], id).toContain(reply.status)
      }
    })
  })
}
