import { describe, expect, it } from 'vitest'
import type { Caller, CallOptions, Input, Reply } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import type { Admin } from '../../src/engine/admin/admin.js'
import { perTest } from '../support/each.js'
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

/** What every caller does with the weekly limit of a member, whether it is the engine itself or something in front of it. */
export function describeWeeklyLimit(name: string, open: () => Promise<Subject>): void {
  describe(`P59: the weekly limit of a member, by way of ${name}`, () => {
    const subject = perTest(open)
    const members = () => subject.members ?? subject.bench.admin
    const call = (id: OperationId, input: Input, options: CallOptions = {}): Promise<Reply> =>
      subject.caller.call(id, input, { apiKey: subject.key ?? subject.bench.key, ...options })
    const enrich = (domain: string, options?: CallOptions) => call('accounts.enrich', { domain }, options)
    const limit = (weeklyLimit: number | null) => members().changeMember('me@localhost', { weeklyLimit })

    it('lets exactly as much be spent, however many calls come at once, found or not', async () => {
      await limit(10)
      const misses = Array.from({ length: 10 }, () => enrich('nobody.example'))
      const hits = Array.from({ length: 25 }, () => enrich('known.example'))
      const replies = await Promise.all([...misses, ...hits])
      const withStatus = (status: number) => replies.slice(10).filter((reply) => reply.status === status)
      expect([withStatus(200).length, withStatus(403).length]).toEqual([10, 15])
      expect(withStatus(403)[0]?.body).toMatchObject({ code: 'workspace_limit_exceeded' })
      expect(await subject.bench.balance()).toBe(990)
      const other = { email: 'other@localhost', weeklyLimit: 1 }
      await members().addMember(other)
      const { key: apiKey } = await members().createKey({ member: other.email })
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
}
