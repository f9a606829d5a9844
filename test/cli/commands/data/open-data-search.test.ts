import { describe, expect, it } from 'vitest'
import { industries } from '../../../../src/api/schemas/enumerations.js'
import { ends, machine } from '../../../support/command.js'
import { perFile } from '../../../support/each.js'

const { openCompany, openQuestions, writeOpenData } = (await import(
  new URL('../../../../scripts/bench/open-rows.js', import.meta.url).href
)) as {
  openCompany: (number: number) => Readonly<
    Record<'name' | 'city' | 'size' | 'industry' | 'domain' | 'slug', string>
  > & {
    readonly country: string | null
  }
  openQuestions: readonly Question[]
  writeOpenData: (file: string, count: number) => Promise<void>
}

const count = 20_000
const here = perFile(async () => {
  const one = machine()
  await writeOpenData(one.path('open.csv'), count)
  await ends(one.run('data import companies open.csv'), 0)
  return one
})

type Question = Readonly<Partial<Record<string, string | readonly string[]>>>
const all = Array.from({ length: count }, (_, number) => openCompany(number))

/** Reads one company after the other. */
function matches(company: (typeof all)[number], question: Question): boolean {
  const listed = (field: string) => question[field] as readonly string[] | undefined
  const isIn = (names: readonly string[]) =>
    names.some((name) => (industries[name] ?? name) === company.industry)
  const at = (codes: readonly string[]) => company.country !== null && codes.includes(company.country)
  return (
    (question.keyword === undefined || company.name.split(' ').includes(String(question.keyword))) &&
    (listed('included_locations') === undefined || at(listed('included_locations') ?? [])) &&
    !at(listed('excluded_locations') ?? []) &&
    (listed('included_industries') === undefined || isIn(listed('included_industries') ?? [])) &&
    !isIn(listed('excluded_industries') ?? []) &&
    (listed('company_size') === undefined || listed('company_size')?.includes(company.size) === true)
  )
}

const option = (name: string) => `--${name.replaceAll('_', '-')}`
const toOptions = (question: Question) =>
  Object.entries(question).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => [option(name), String(one)]),
  )

describe(`${count} companies of open data`, () => {
  it.each(
    [
      ...openQuestions,
      { included_locations: ['DE'], included_industries: ['96'], company_size: ['1-10'] },
      { included_industries: ['Retail'], excluded_locations: ['US', 'GB'] },
      { included_locations: ['US'] },
      { keyword: 'robotics' },
      {
        keyword: 'robotics',
        included_locations: ['GB', 'DE', 'US'],
        included_industries: ['Software Development', 'Restaurants'],
        company_size: ['1-10', '11-50', '10001+'],
      },
    ].map((question) => [JSON.stringify(question), question] as const),
  )('are found as a naive reading of the file finds them: %s', async (_, question) => {
    const found = all.filter((company) => matches(company, question))
    const reply = await here.json<{ total_count: number; preview: { network_url: string }[] }>(
      'accounts',
      'search',
      '--preview',
      ...toOptions(question),
    )
    expect(reply.total_count).toBe(found.length)
    expect(reply.preview.map(({ network_url }) => network_url)).toEqual(
      found.slice(0, 25).map(({ slug }) => `linkedin.com/company/${slug}`),
    )
  })

  it('are each looked up by domain and by profile', async () => {
    for (const number of [0, 777, 9_999, count - 1]) {
      const { domain, slug, city } = all[number] as (typeof all)[number]
      const by = domain ? `--domain ${domain}` : `--company-network-url linkedin.com/company/${slug}`
      const found = await here.json<{ network_url: string; city: string | null }>(`accounts enrich ${by}`)
      expect(found.network_url).toBe(`linkedin.com/company/${slug}`)
      expect((found.city ?? '').toLowerCase()).toBe(city)
    }
  })
})
