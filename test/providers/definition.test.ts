import { describe, expect, it } from 'vitest'
import { Refusal } from '../../src/api/calls/errors.js'
import { reportOf, describe as sentenceOf } from '../../src/cli/messages.js'
import { compileProvider, micros } from '../../src/providers/compile.js'
import { readProvider } from '../../src/providers/definition.js'
import { casesOf } from '../support/fixtures.js'
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

  it.each(
    casesOf<[from: string, to: string, sentence: string, hint: string]>('providers/definition/refused'),
  )('is refused with line and column where %s becomes %s', async (from, to, sentence, hint) => {
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
    const empty = await read('').catch((error: unknown) => error)
    expect(sentenceOf(empty as Refusal)).toContain('acme.yaml:1:1: this is no provider.')
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
    expect(email?.resultOf(answer, {})).toEqual({ email: 'w', email_status: 'risky' })
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
