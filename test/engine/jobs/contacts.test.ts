import { beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../../src/api/ports/ports.js'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import { perTest } from '../../support/each.js'
import { idOf, openWorked } from '../fake-sender.js'

const bench = perTest(openWorked)

const position = () => bench.store.read((tx) => readBalances(tx, bench.workspaceId))

describe('a waterfall', () => {
  const ladder: Provider = {
    name: 'test',
    email: ({ lastName }) =>
      lastName === 'Nobody' ? undefined : { email: 'a@known.example', status: 'valid' },
    phones: () => [{ number: '+33639980001', type: 'mobile', country_code: 'FR' }],
  }
  beforeEach(() => {
    bench.source.ladder = [ladder]
  })
  const ada = { firstname: 'Ada', lastname: 'Byron', domain: 'known.example' }

  it('is pending, then finished, and pays for what it found', async () => {
    const custom = { a: 1 }
    const { body } = await bench.call('contacts.enrich', { ...ada, enrichment_type: ['email'], custom })
    const id = idOf(body)
    const who = { enrichment_id: id, first_name: 'Ada', last_name: 'Byron', custom }
    expect(body).toEqual({ ...who, status: 'pending' })
    expect((await bench.call('contacts.get', { id })).body).toMatchObject({ status: 'pending', email: null })
    expect(await position()).toMatchObject({ credits: 997, held: 3 })
    await bench.worker.finish(id)
    const { body: result } = await bench.call('contacts.get_enrichment', { id })
    const found = { email: 'a@known.example', email_status: 'valid', credits_used: 3 }
    expect(result).toMatchObject({ enrichment_id: id, status: 'finished', ...found, custom })
    expect(await position()).toMatchObject({ credits: 997, held: 0, spent: 3 })
  })

  it('in bulk returns each contact by its own id, and pays only for those found', async () => {
    const contacts = Array.from({ length: 45 }, (_, at) => ({
      ...ada,
      lastname: at % 3 === 0 ? 'Nobody' : `Byron ${at}`,
      custom: { at },
    }))
    const { body } = await bench.call('contacts.bulk_enrich', { contacts, enrichment_type: ['email'] })
    const { contacts: each } = body as { contacts: { enrichment_id: string; custom: { at: number } }[] }
    expect(each.map(({ custom }) => custom.at)).toEqual(contacts.map((_, at) => at))
    await bench.worker.finish(idOf(body))
    const all = (await bench.call('contacts.get', { id: idOf(body) })).body
    expect(all).toMatchObject({ status: 'finished', total: 45, finished: 45 })
    const one = (await bench.call('contacts.get', { id: each[3]?.enrichment_id ?? '' })).body
    expect(one).toMatchObject({ email: null, credits_used: 0, message: 'No data found', custom: { at: 3 } })
    expect(await position()).toMatchObject({ credits: 910, held: 0, spent: 90 })
  })

  it('is charged at once when it is answered at once, and can be read again', async () => {
    const { body, credits } = await bench.call('contacts.enrich_sync', { ...ada, enrichment_type: ['email'] })
    expect(credits).toBe(3)
    expect((await bench.call('contacts.get', { id: idOf(body) })).body).toEqual(body)
  })

  it('looks for personal addresses only with consent', async () => {
    const asked = { network_url: 'https://www.network.example/in/ada', enrichment_type: ['personal_email'] }
    const refused = await bench.call('contacts.enrich', asked)
    const error = 'Personal email enrichment requires consent'
    expect(refused).toMatchObject({ status: 422, body: { error } })
    await bench.admin.changeMember('me@localhost', { consentPersonalEmail: true })
    expect((await bench.call('contacts.enrich', asked)).status).toBe(201)
  })
})
