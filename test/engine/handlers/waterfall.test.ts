import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Contact, FoundEmail, Provider } from '../../../src/api/ports/ports.js'
import { contactResult } from '../../../src/api/schemas/records.js'
import { runWaterfall } from '../../../src/engine/handlers/waterfall.js'
import type { WaterfallAsk } from '../../../src/engine/tables/jobs.js'
import { casesOf } from '../../support/fixtures.js'

const ada: Contact = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  domain: 'acme.example',
  url: 'https://www.network.example/in/ada',
}

/** What a provider answers to each question, or that it fails at it. */
type Answers = Readonly<Record<string, unknown>>

/** What is asked of some providers, and what comes of it; null stands for a field that is absent. */
interface WaterfallCase {
  readonly what: string
  readonly types: WaterfallAsk['types']
  readonly providers: readonly Answers[]
  readonly contact?: Contact
  readonly only?: Partial<WaterfallAsk>
  readonly found?: Readonly<Record<string, unknown>>
  readonly fields?: readonly string[]
  readonly used?: object
  /** The questions that were asked, by the number of the provider. */
  readonly log?: readonly string[]
  /** Who was asked about in the end. */
  readonly seen?: Contact
  readonly fails?: string
}

async function run({ types, providers, contact = ada, only }: Omit<WaterfallCase, 'what'>) {
  const log: string[] = []
  const seen: Contact[] = []
  const toProvider = (answers: Answers, at: number): Provider => {
    const questions = Object.entries(answers).map(([question, answer]) => [
      question,
      async (about: Contact) => {
        log.push(`${at}.${question}`)
        if (question !== 'person') seen.push(about)
        if (answer === 'fails') throw new Error(`${at} fails`)
        return answer ?? undefined
      },
    ])
    return { name: String(at), ...Object.fromEntries(questions) }
  }
  const ask: WaterfallAsk = { types, mobileOnly: false, phoneCountryCodes: [], ...only }
  const reached = await runWaterfall(providers.map(toProvider), contact, ask)
  return { ...reached, log, seen: seen.at(-1) }
}

it.each(casesOf<WaterfallCase>('engine/handlers/waterfall'))(
  'a waterfall $what',
  async ({ found, fields, used, log, seen, fails, ...asked }) => {
    if (fails) return await expect(run(asked)).rejects.toThrow(fails)
    const reached = await run(asked)
    const absent = Object.fromEntries(Object.keys(found ?? {}).map((name) => [name, null]))
    expect({ ...absent, ...reached.found }).toMatchObject(found ?? {})
    if (fields) expect(Object.keys(reached.found).sort()).toEqual(fields)
    if (used) expect(reached.used).toEqual(used)
    if (log) expect(reached.log).toEqual(log)
    if (seen) expect(reached.seen).toEqual(seen)
    const around = { enrichment_id: 'x', status: 'finished', credits_used: 0 }
    expect(contactResult().safeParse({ ...around, ...reached.found })).toMatchObject({ success: true })
  },
)

it('a waterfall takes the first acceptable address in the order of the providers, for any answers', async () => {
  const status = fc.constantFrom<FoundEmail['status'] | undefined>(undefined, 'valid', 'risky', 'invalid')
  await fc.assert(
    fc.asyncProperty(fc.array(status, { maxLength: 6 }), async (statuses) => {
      const providers = statuses.map((one, at) => ({
        email: one && { email: `${at}@acme.example`, status: one },
      }))
      const { found, used, log } = await run({ types: ['email'], providers })
      const first = statuses.findIndex((one) => one === 'valid' || one === 'risky')
      const best = first < 0 ? statuses.indexOf('invalid') : first
      expect(found.email).toBe(best < 0 ? null : `${best}@acme.example`)
      expect(found.email_status).toBe(statuses[best] ?? null)
      expect(used).toEqual(first < 0 ? {} : { email: 1 })
      expect(log).toHaveLength(first < 0 ? statuses.length : first + 1)
    }),
  )
})
