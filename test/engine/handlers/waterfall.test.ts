import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Contact, FoundEmail, PhoneDetail, Provider } from '../../../src/api/ports/ports.js'
import { contactResult } from '../../../src/api/schemas/records.js'
import { requireConsent, runWaterfall } from '../../../src/engine/handlers/waterfall.js'
import type { WaterfallAsk } from '../../../src/engine/tables/jobs.js'

const ada: Contact = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  domain: 'acme.example',
  url: 'https://www.network.example/in/ada',
}
const unasked: WaterfallAsk = { types: [], mobileOnly: false, phoneCountryCodes: [] }
const ask = (...types: WaterfallAsk['types']): WaterfallAsk => ({ ...unasked, types })

const mail = (local: string, status: FoundEmail['status'] = 'valid'): FoundEmail => ({
  email: `${local}@acme.example`,
  status,
})
const phone = (number: string, type: PhoneDetail['type'], country_code: string | null): PhoneDetail => ({
  number,
  type,
  country_code,
})
const mobile = phone('+33639980001', 'mobile', 'FR')
const landline = phone('+33199001234', 'fixed_line', 'FR')
const either = phone('+12125550101', 'fixed_or_mobile', 'US')
const nowhere = phone('+999123456', 'unknown', null)

type Answers = {
  readonly [Q in 'person' | 'email' | 'personalEmail' | 'phones']?:
    | Awaited<ReturnType<NonNullable<Provider[Q]>>>
    | Error
    | ((contact: Contact) => Awaited<ReturnType<NonNullable<Provider[Q]>>>)
}

/** A provider that answers what it is given, throws the errors among it, and writes down what it was asked. */
function provider(name: string, answers: Answers, log: string[] = []): Provider {
  const questions = Object.entries(answers).map(([question, answer]) => [
    question,
    async (contact: Contact) => {
      log.push(`${name}.${question}`)
      if (answer instanceof Error) throw answer
      return typeof answer === 'function' ? answer(contact) : answer
    },
  ])
  return { name, ...Object.fromEntries(questions) }
}

describe('the order of a waterfall', () => {
  it('is email, personal email, phone, whatever the request lists first', async () => {
    const log: string[] = []
    const all = provider('a', { email: undefined, personalEmail: undefined, phones: [] }, log)
    await runWaterfall([all], ada, ask('phone', 'personal_email', 'email', 'phone'))
    expect(log).toEqual(['a.email', 'a.personalEmail', 'a.phones'])
  })

  it('continues with the next provider only when nothing acceptable was found', async () => {
    const log: string[] = []
    const first = provider('a', { email: mail('a'), personalEmail: undefined, phones: [mobile] }, log)
    const second = provider('b', { email: mail('b'), personalEmail: mail('b'), phones: [landline] }, log)
    const { found } = await runWaterfall([first, second], ada, ask('email', 'personal_email', 'phone'))
    expect(log).toEqual(['a.email', 'a.personalEmail', 'b.personalEmail', 'a.phones'])
    expect(found).toMatchObject({
      email: 'a@acme.example',
      personal_email: 'b@acme.example',
      phone: [mobile.number],
    })
  })

  it('asks for requested types only', async () => {
    const log: string[] = []
    const all = provider('a', { email: mail('a'), personalEmail: mail('a'), phones: [mobile] }, log)
    const { found, used } = await runWaterfall([all], ada, ask('personal_email'))
    expect(log).toEqual(['a.personalEmail'])
    expect(Object.keys(found).sort()).toEqual(
      'first_name last_name network_profile_url personal_email personal_email_status'.split(' '),
    )
    expect(used).toEqual({ personal_email: 1 })
  })

  it('is that of the providers for any answers', async () => {
    const status = fc.constantFrom<FoundEmail['status'] | undefined>(undefined, 'valid', 'risky', 'invalid')
    await fc.assert(
      fc.asyncProperty(fc.array(status, { maxLength: 6 }), async (statuses) => {
        const log: string[] = []
        const providers = statuses.map((one, at) =>
          provider(String(at), { email: one && mail(String(at), one) }, log),
        )
        const { found, used } = await runWaterfall(providers, ada, ask('email'))
        const first = statuses.findIndex((one) => one === 'valid' || one === 'risky')
        const best = first < 0 ? statuses.indexOf('invalid') : first
        expect(found.email).toBe(best < 0 ? null : `${best}@acme.example`)
        expect(found.email_status).toBe(statuses[best] ?? null)
        expect(used).toEqual(first < 0 ? {} : { email: 1 })
        expect(log).toHaveLength(first < 0 ? statuses.length : first + 1)
      }),
    )
  })
})

describe('an email address of a waterfall', () => {
  it.each([
    ['valid', { email: 1 }],
    ['risky', { email: 1 }],
    ['invalid', {}],
  ] as const)('that is %s is returned and uses %j', async (status, expected) => {
    const { found, used } = await runWaterfall(
      [provider('a', { email: mail('a', status) })],
      ada,
      ask('email'),
    )
    expect(found).toMatchObject({ email: 'a@acme.example', email_status: status })
    expect(found).not.toHaveProperty('message')
    expect(used).toEqual(expected)
  })

  it('that is invalid gives way to a better one of a later provider', async () => {
    const wrong = provider('a', { email: mail('a', 'invalid'), personalEmail: mail('a', 'invalid') })
    const right = provider('b', { email: mail('b', 'risky') })
    const { found, used } = await runWaterfall([wrong, right], ada, ask('email', 'personal_email'))
    expect(found).toMatchObject({ email: 'b@acme.example', personal_email: 'a@acme.example' })
    expect(used).toEqual({ email: 1 })
  })
})

describe('phones of a waterfall', () => {
  const all = [mobile, landline, either, nowhere]
  it.each<[string, Partial<WaterfallAsk>, readonly PhoneDetail[]]>([
    ['all', {}, all],
    ['mobile, and what may be', { mobileOnly: true }, [mobile, either]],
    ['of a country', { phoneCountryCodes: ['FR'] }, [mobile, landline]],
    ['of several countries', { phoneCountryCodes: ['US', 'FR'] }, [mobile, landline, either]],
    ['mobile of a country', { mobileOnly: true, phoneCountryCodes: ['FR'] }, [mobile]],
    ['of another country', { phoneCountryCodes: ['DE'] }, []],
  ])('follow the options: %s', async (_, only, left) => {
    const { found, used } = await runWaterfall([provider('a', { phones: all })], ada, {
      ...ask('phone'),
      ...only,
    })
    expect(found.phone_details).toEqual(left)
    expect(found.phone).toEqual(left.map(({ number }) => number))
    expect(used).toEqual(left.length > 0 ? { phone: 1 } : {})
  })

  it('come from the first provider that has some of the wanted ones', async () => {
    const log: string[] = []
    const providers = [
      provider('a', { phones: [landline] }, log),
      provider('b', { phones: [mobile, mobile] }, log),
      provider('c', { phones: [either] }, log),
    ]
    const { found, used } = await runWaterfall(providers, ada, { ...ask('phone'), mobileOnly: true })
    expect(log).toEqual(['a.phones', 'b.phones'])
    expect(found.phone).toEqual([mobile.number])
    expect(used).toEqual({ phone: 1 })
  })
})

describe('a waterfall without a result', () => {
  it('is reported with empty fields and a message', async () => {
    const nobody = provider('a', { email: undefined, personalEmail: undefined, phones: [] })
    const reached = await runWaterfall([nobody], { url: 'x' }, ask('email', 'personal_email', 'phone'))
    expect(reached).toEqual({
      found: {
        first_name: null,
        last_name: null,
        network_profile_url: 'x',
        email: null,
        email_status: null,
        personal_email: null,
        personal_email_status: null,
        phone: [],
        phone_details: [],
        message: 'No data found',
      },
      used: {},
    })
  })

  it('occurs when no provider finds anything', async () => {
    expect((await runWaterfall([], ada, ask('email'))).found.message).toBe('No data found')
  })

  it('does not occur when one of several types was found', async () => {
    const { found } = await runWaterfall([provider('a', { phones: [mobile] })], ada, ask('email', 'phone'))
    expect(found).toMatchObject({ email: null, phone: [mobile.number] })
    expect(found).not.toHaveProperty('message')
  })

  it('fits the schema of a contact, as every other result does', async () => {
    const around = { enrichment_id: 'x', status: 'finished', credits_used: 0 }
    for (const answers of [{}, { email: mail('a', 'risky'), phones: [mobile, nowhere] }]) {
      const { found } = await runWaterfall([provider('a', answers)], ada, ask('email', 'phone'))
      expect(contactResult().safeParse({ ...around, ...found })).toMatchObject({ success: true })
    }
  })
})

describe('the person of a waterfall', () => {
  const known = { url: 'https://www.network.example/in/known', firstName: 'Adah', lastName: 'King' }
  const employed = { ...known, domain: 'old.example', companyName: 'Old' }
  const asked = async (contact: Contact, person: Contact | undefined) => {
    let seen: Contact | undefined
    const providers = [
      provider('a', {
        person,
        email: (one) => {
          seen = one
          return undefined
        },
      }),
    ]
    const { found } = await runWaterfall(providers, contact, ask('email'))
    return { seen, found }
  }

  it('is completed by a provider that knows them, for the other providers too', async () => {
    const { seen, found } = await asked({ url: 'u' }, employed)
    expect(seen).toEqual({ ...employed, url: 'u' })
    expect(found).toMatchObject({ first_name: 'Adah', last_name: 'King', network_profile_url: 'u' })
  })

  it('keeps the given fields', async () => {
    const { seen, found } = await asked({ firstName: 'Ada', lastName: 'L', companyName: 'New' }, employed)
    expect(seen).toEqual({
      url: known.url,
      firstName: 'Ada',
      lastName: 'L',
      companyName: 'New',
      domain: undefined,
    })
    expect(found).toMatchObject({ first_name: 'Ada', last_name: 'L', network_profile_url: known.url })
  })

  it('is left unchanged when no provider knows them', async () => {
    expect((await asked({ url: 'u' }, undefined)).found).toMatchObject({ first_name: null, last_name: null })
  })

  it('is not looked up when everything was given', async () => {
    const log: string[] = []
    await runWaterfall([provider('a', { person: known, email: undefined }, log)], ada, ask('email'))
    expect(log).toEqual(['a.email'])
  })

  it('does not make the waterfall fail when the lookup fails', async () => {
    const providers = [provider('a', { person: new Error('down'), email: mail('a') })]
    const { found } = await runWaterfall(providers, { url: 'u' }, ask('email'))
    expect(found).toMatchObject({ email: 'a@acme.example', first_name: null })
  })
})

describe('a provider that fails', () => {
  const [down, later] = [new Error('down'), new Error('later')]

  it('is skipped', async () => {
    const providers = [provider('a', { email: down, phones: down }), provider('b', { email: mail('b') })]
    expect((await runWaterfall(providers, ada, ask('email'))).found.email).toBe('b@acme.example')
  })

  it('does no harm when another one answers, even with nothing', async () => {
    const providers = [provider('a', { email: down }), provider('b', { email: undefined })]
    expect((await runWaterfall(providers, ada, ask('email'))).found.message).toBe('No data found')
  })

  it('does no harm to an invalid address found before', async () => {
    const providers = [provider('a', { email: mail('a', 'invalid') }), provider('b', { email: down })]
    expect((await runWaterfall(providers, ada, ask('email'))).found.email_status).toBe('invalid')
  })

  it('fails the waterfall when no other one could have answered', async () => {
    const providers = [
      provider('a', { email: mail('a'), phones: down }),
      provider('b', { email: undefined, phones: later }),
      provider('c', { email: undefined }),
    ]
    await expect(runWaterfall(providers, ada, ask('email', 'phone'))).rejects.toBe(down)
  })
})

describe('consent to a waterfall', () => {
  it('is required for personal addresses', () => {
    const refused = () => requireConsent(['email', 'personal_email'], false)
    expect(refused).toThrow(expect.objectContaining({ status: 422, code: 'consent_required' }))
    expect(refused).toThrow('Personal email enrichment requires consent')
  })

  it('is not required for anything else, nor a second time', () => {
    expect(() => requireConsent(['email', 'phone'], false)).not.toThrow()
    expect(() => requireConsent(['personal_email'], true)).not.toThrow()
  })
})
