import { describe, expect, it } from 'vitest'
import type { Input } from '../../../src/api/calls/caller.js'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

/** Returns the input that a command sends. */
async function sent(argv: readonly string[], stdin = ''): Promise<Input | undefined> {
  const caller = answering({ body: { id: 'x' } })
  const ended = await here.run(argv, { caller, stdin })
  expect([ended.code, ended.stderr]).toEqual([0, ''])
  return caller.asked[0]?.input
}

const line = (text: string) => sent(text.split(' '))

describe('options of an operation', () => {
  it('sends options as fields of the request', async () => {
    expect(
      await line('accounts enrich --company-network-url https://n.example/company/x --name Acme'),
    ).toEqual({
      company_network_url: 'https://n.example/company/x',
      name: 'Acme',
    })
  })

  it('builds arrays from repeated options, and from commas where no item contains one', async () => {
    expect(
      await sent('accounts search --preview --company-size 1-10,11-50 --company-size 51-200'.split(' ')),
    ).toEqual({ company_size: ['1-10', '11-50', '51-200'] })
    expect(
      await sent(['titles', 'suggest', '--job-titles', 'Head of Sales, EMEA', '--job-titles', 'CRO']),
    ).toEqual({
      job_titles: ['Head of Sales, EMEA', 'CRO'],
    })
  })

  it('converts options to numbers and booleans', async () => {
    expect(await line('accounts hiring --company-domain x.example --limit 5 --full-description')).toEqual({
      company_domain: 'x.example',
      limit: 5,
      full_description: true,
    })
    expect(await line('accounts enrich --domain x.example --no-live')).toEqual({
      domain: 'x.example',
      live: false,
    })
    expect(await line('accounts enrich --domain x.example --live')).toEqual({
      domain: 'x.example',
      live: true,
    })
  })

  it('builds objects from key=value pairs or JSON', async () => {
    const given = ['leads', 'search', '--company-domain', 'x.example', '--functions', '25']
    expect(await sent([...given, '--custom', 'row=7', '--custom', 'team=north'])).toMatchObject({
      custom: { row: 7, team: 'north' },
    })
    expect(await sent([...given, '--custom', '{"a":[1]}'])).toMatchObject({ custom: { a: [1] } })
  })

  it('accepts --first-name and --last-name in every command that needs a person', async () => {
    const names = '--first-name Jane --last-name Doe --domain x.example'
    expect(await line(`leads enrich ${names}`)).toMatchObject({ first_name: 'Jane', last_name: 'Doe' })
    expect(await line(`contacts waterfall ${names} --enrichment-type email`)).toMatchObject({
      firstname: 'Jane',
      lastname: 'Doe',
    })
  })

  it('takes path parameters as arguments', async () => {
    expect(await line('lists get 42')).toEqual({ id: '42' })
    expect(await line('personas delete 42')).toEqual({ uuid: '42' })
  })

  it('prefers options to --input, and sends unknown fields of --input too', async () => {
    const body = '\uFEFF{"name": "from file", "domain": "x.example", "novel": 1}'
    expect(await sent(['accounts', 'enrich', '--input', '-', '--name', 'from option'], body)).toEqual({
      name: 'from option',
      domain: 'x.example',
      novel: 1,
    })
  })

  it('keeps --no-input and --input apart', async () => {
    expect(
      await sent(['accounts', 'enrich', '--no-input', '--input', '-'], '{"domain":"x.example"}'),
    ).toEqual({
      domain: 'x.example',
    })
  })

  it('sends --idempotency-key', async () => {
    const caller = answering({ body: { id: 'x' } })
    const argv = 'accounts enrich --domain x.example --idempotency-key once'.split(' ')
    await here.run(argv, { caller })
    expect(caller.asked[0]?.options.idempotencyKey).toBe('once')
  })

  it('accepts global options before the words of a command', async () => {
    for (const argv of [
      ['--format', 'ids', 'lists', 'list'],
      ['lists', '--format', 'ids', 'list'],
      ['lists', 'list', '--format=ids'],
      ['lists', '--format', 'csv', 'list', '--format', 'ids'],
    ]) {
      const caller = answering({ body: { lists: [{ id: 'a' }] } })
      expect((await here.run(argv, { caller })).stdout).toBe('a\n')
    }
  })

  it('accepts values that look like options after =', async () => {
    expect(await sent(['accounts', 'enrich', '--name=--json', '--country=DE'])).toEqual({
      name: '--json',
      country: 'DE',
    })
  })
})
