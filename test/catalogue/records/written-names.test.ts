import { describe, expect, it } from 'vitest'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { perFile } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { casesOf, rowsOf } from '../../support/fixtures.js'
import { inPostgres, openWith } from '../open.js'

const written = rowsOf('company-names/written.tsv')
const pairs = rowsOf('company-names/different.tsv')
const countries = new Map<string, string>([
  ...written.map(([, name = '', country = '']) => [name, country] as const),
  ...pairs.flatMap(
    ([one = '', at = '', other = '', there = '']) =>
      [
        [one, at],
        [other, there],
      ] as const,
  ),
])
const names = [...countries.keys()]

/** Without `--long` every third name; PostgreSQL, where the rules are the same, then answers for every twelfth only. */
const some = <T>(rows: readonly T[]): readonly T[] =>
  sample(rows, process.env[inPostgres] === undefined ? 3 : 12)

/** The company with a name, at a domain that says which of the list it is. */
const toCompany = (name: string, index: number) => ({
  name,
  country: countries.get(name) ?? '',
  domain: `company-${index}.example`,
})

const nameOf = async (catalogue: Catalogue, name: string, country?: string): Promise<string | undefined> =>
  (await catalogue.company({ name, ...(country === undefined ? {} : { country }) }))?.name ?? undefined

describe('a company whose name was written as CRMs store it', () => {
  const catalogue = perFile(() => openWith(names.map(toCompany)))

  it.each([
    ['with its country in all but 6 of 2,019 rows', true, 6],
    ['without its country in all but 8 of 2,019 rows', false, 8],
  ])('is found %s, and never another one', async (_, isCountryKnown, most) => {
    const missed: string[] = []
    const wrong: string[] = []
    for (const [text = '', name = '', country] of some(written)) {
      const answer = await nameOf(catalogue, text, isCountryKnown ? country : undefined)
      if (answer === undefined) missed.push(text)
      else if (answer !== name) wrong.push(`${text}: ${answer}`)
    }
    expect(wrong).toEqual([])
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(most)
  })

  it('is no other one that lacks the partners of its name, where the catalogue does not have it', async () => {
    const there = await openWith([
      { name: 'Merck KGaA', country: 'DE', domain: 'merckgroup.example' },
      { name: 'Tiffany and Company', country: 'US', domain: 'tiffany.example' },
      { name: 'Oppenheim GmbH & Co. KG', country: 'DE', domain: 'oppenheim.example' },
      { name: 'Brown', country: 'US', domain: 'brown.example' },
    ])
    const partners = ['Merck + Co.', 'Merck & Co.', 'Merck und Co', 'Merck & Company', 'MERCK & CO., INC.']
    for (const name of partners) expect([name, await nameOf(there, name)]).toEqual([name, undefined])
    for (const [name, own] of [
      ['Merck', 'Merck KGaA'],
      ['Tiffany & Co.', 'Tiffany and Company'],
      ['Oppenheim & Co', 'Oppenheim GmbH & Co. KG'],
      ['Brown & Co.', 'Brown'],
    ] as const)
      expect([name, await nameOf(there, name)]).toEqual([name, own])
    await there.close()
  })

  it('is itself in each pair of similar names', async () => {
    for (const [one = '', at = '', other = '', there = ''] of pairs) {
      expect(await nameOf(catalogue, one, at)).toBe(one)
      expect(await nameOf(catalogue, other, there)).toBe(other)
      expect([one, undefined]).toContain(await nameOf(catalogue, one))
      expect([other, undefined]).toContain(await nameOf(catalogue, other))
    }
  })

  it.each([0, 1])(
    'is nobody else when the catalogue does not have it (half %i of the list)',
    async (half) => {
      const there = names.filter((_, index) => index % 2 === half)
      const others = await openWith(there.map(toCompany))
      const absent = [
        ...written.map(([text = '', name = '']) => [text, name]),
        ...names.map((name) => [name, name]),
      ]
      const wrong: string[] = []
      for (const [text = '', name = ''] of some(absent.filter(([, name = '']) => !there.includes(name))))
        for (const country of [undefined, countries.get(name)]) {
          const answer = await nameOf(others, text, country)
          if (answer !== undefined) wrong.push(`${text}: ${answer}`)
        }
      await others.close()
      expect(wrong).toEqual([])
    },
  )
})

describe('a written name', () => {
  const found = async (there: readonly string[], name: string, country?: string) => {
    const catalogue = await openWith(
      there.map((text, index) => {
        const [company = '', at] = text.split(' | ')
        return {
          name: company,
          domain: `there-${index}.example`,
          ...(at === undefined ? {} : { country: at }),
        }
      }),
    )
    const answer = await nameOf(catalogue, name, country)
    await catalogue.close()
    return answer
  }

  it.each(
    casesOf<[string, string[], string, string | null]>('catalogue/records/written-names/finds-no-other'),
  )('with %s finds no other company', async (_, there, name, company) => {
    expect((await found(there, name)) ?? null).toBe(company)
  })

  it("finds nothing when the country given is not the company's", async () => {
    expect(await found(['Telefónica | ES'], 'Telefónica (Germany)', 'DE')).toBeUndefined()
    expect(await found(['Telefónica | ES'], 'Telefónica (Germany)', 'ES')).toBe('Telefónica')
  })

  it.each(['(', 'a - ', 'ae ', '* ', ' ', '[', ', '])('of repeated "%s" is answered', async (text) => {
    expect(await found(['Acme'], text.repeat(5_000))).toBeUndefined()
    expect(await found(['Acme'], text.repeat(50))).toBeUndefined()
  })
})
