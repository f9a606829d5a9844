import { describe, expect, it } from 'vitest'
import { Refusal } from '../../src/api/calls/errors.js'
import { reportOf, describe as sentenceOf } from '../../src/cli/messages.js'
import { compileProvider, micros } from '../../src/providers/compile.js'
import { readProvider } from '../../src/providers/definition.js'
import { acmemail } from '../support/vendors.js'

const read = async (text: string) => compileProvider(await readProvider(text, 'acme.yaml'))

describe('a provider file', () => {
  it('is read with all that the contract prints', async () => {
    const provider = await read(acmemail())
    expect(Object.keys(provider.kinds)).toEqual(['email', 'phone'])
    // 500 in a minute are the slowest of its rates.
    expect(provider.intervalUs).toBe(122_400)
  })

  it('means the same in JSON', async () => {
    const { file } = await readProvider(acmemail(), 'acme.yaml')
    expect((await readProvider(JSON.stringify(file), 'acme.json')).file).toEqual(file)
  })

  it.each([
    [/kinds:/, 'kindz:', 'acme.yaml:6:1: kindz is not known.', 'Did you mean kinds?'],
    [
      'is: found',
      'is: fuond',
      'acme.yaml:11:61: kinds.email.outcomes[0].is must be one of',
      'Did you mean found?',
    ],
    [
      'first_name, last',
      'first_nme, last',
      'acme.yaml:8:14: kinds.email.needs[0][0] must be',
      'Did you mean first_name?',
    ],
    [
      'status == 403',
      'status = 403',
      'acme.yaml:13:11: kinds.email.outcomes[2].when: unexpected',
      'Write == to compare.',
    ],
    ['15/s', '15 per s', 'acme.yaml:4:19: limits.rates[0]: write a rate such as 15/s or 500/min.', ''],
    [
      '{ email: body',
      '{ emial: body',
      'acme.yaml:16:15: kinds.email.result.emial is not known.',
      'Did you mean email?',
    ],
    ['  email:\n', '  emial:\n', 'acme.yaml:7:3: kinds.emial is not known.', 'Did you mean email?'],
    [
      'email: body.data.email',
      'email: "body.data["',
      'acme.yaml:16:15: kinds.email.result.email: "body.data[" is not a path.',
      '',
    ],
    [
      '"{last_name}"',
      '"{lastname}"',
      'acme.yaml:9:5: kinds.email.request: {lastname} is not a field that can be sent.',
      'Did you mean last_name?',
    ],
    ['"/phones/{id}"', '"/phones/{ids}"', 'kinds.phone.poll: {ids} is not a field', 'Did you mean id?'],
    ['name: acmemail', 'name: mx', 'acme.yaml:1:1: name: this is the name of something built in', ''],
    ['auth: { header: X-API-KEY }', 'auth: {}', 'acme.yaml:3:1: auth: give one of header', ''],
    ['email_status: {', 'email_status: {{', 'acme.yaml:17:5: Flow map', ''],
  ])('is refused with line and column where %s becomes %s', async (from, to, sentence, hint) => {
    const text = acmemail().replace(from, to)
    const refusal = await read(text).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(Refusal)
    expect(sentenceOf(refusal as Refusal)).toContain(sentence)
    expect(reportOf(refusal)?.hint).toContain(hint)
  })

  it('is refused where it is no mapping, too large, or refers to itself without end', async () => {
    const bomb = `a: &a [x,x]\n${[...'bcdefghijk'].map((name, at) => `${name}: &${name} [*${'abcdefghijk'[at]},*${'abcdefghijk'[at]}]`).join('\n')}`
    for (const text of ['', '[]', 'just text', `# ${'x'.repeat(300_000)}`, bomb])
      await expect(read(text)).rejects.toBeInstanceOf(Refusal)
  })
})

describe('a request to a provider', () => {
  it('has the first set of fields that the row has, what else it names, and nothing of the others', async () => {
    const { kinds } = await read(
      acmemail().replace('domain: "{domain}",', 'domain: "{domain}", in: "{country}",'),
    )
    const row = {
      first_name: 'Ada',
      last_name: 'King',
      full_name: 'Ada King',
      domain: 'acme.example',
      email: 'x@y.example',
      country: 'SE',
    }
    expect(kinds.email?.fieldsOf(row)).toEqual({
      first_name: 'Ada',
      last_name: 'King',
      domain: 'acme.example',
      country: 'SE',
    })
    expect(kinds.email?.fieldsOf({ full_name: 'Ada King' })).toBeUndefined()
  })

  it('encodes values, and leaves out those that a row lacks', async () => {
    const { kinds } = await read(acmemail())
    const request = kinds.email?.request([{ row: '1', full_name: 'Ada', domain: 'a&b=c/d' }])
    expect(request?.path).toBe('/email-finder?domain=a%26b%3Dc%2Fd')
  })

  it('has an item for each row of a batch, and finds the items of the answer by id, in any order', async () => {
    const { phone } = (await read(acmemail())).kinds
    const request = phone?.request([
      { row: 'a', network_url: 'u1' },
      { row: 'b', network_url: 'u2' },
    ])
    expect(request?.body).toEqual({
      items: [
        { id: 'a', url: 'u1' },
        { id: 'b', url: 'u2' },
      ],
    })
    const answer = {
      status: 200,
      headers: {},
      body: { data: [{ id: 'b', phone: '2' }, { id: 'a', phone: '1' }, { id: 'x' }] },
    }
    expect(['a', 'b', 'c'].map((row, at) => phone?.itemOf(answer, row, at, 3))).toEqual([
      { id: 'a', phone: '1' },
      { id: 'b', phone: '2' },
      undefined,
    ])
  })
})

describe('an answer of a provider', () => {
  it('is read by paths, also of the first element that meets a condition, and words are mapped', async () => {
    const text = acmemail().replace(
      'email: body.data.email,',
      `email: "body.emails[item.kind == 'work'].email",`,
    )
    const { email } = (await read(text)).kinds
    const answer = {
      status: 200,
      headers: {},
      body: {
        emails: [
          { kind: 'home', email: 'h' },
          { kind: 'work', email: 'w' },
        ],
        data: { verification: { status: 'accept_all' } },
      },
    }
    expect(email?.resultOf(answer)).toEqual({ email: 'w', email_status: 'risky' })
  })

  it('costs what its body or a header says, and is not free where they say nothing', async () => {
    const costs = async (cost: string) =>
      (await read(acmemail().replace('{ found: 1, not_found: 0 }', cost))).kinds.email
    const answer = { status: 200, headers: { 'x-spent': '0.5' }, body: { spent: 2 } }
    expect((await costs('{ found: 1, not_found: 0 }'))?.costOf(answer, 'not_found')).toBe(0)
    expect((await costs('{ from: body.spent }'))?.costOf(answer, 'found')).toBe(2 * micros)
    expect((await costs('{ header: X-Spent }'))?.costOf(answer, 'found')).toBe(micros / 2)
    expect((await costs('{ from: body.nothing }'))?.costOf(answer, 'found')).toBeUndefined()
    expect((await costs('{ from: body.nothing, found: 3 }'))?.costOf(answer, 'found')).toBe(3 * micros)
  })
})
