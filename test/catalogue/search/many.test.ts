import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/api/ports/ports.js'
import { companySizes, companyTypes } from '../../../src/api/schemas/enumerations.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { type Catalogue, openCatalogue } from '../../../src/catalogue/catalogue.js'
import { openShared } from '../../../src/storage/database/open.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { tries } from '../../support/effort.js'
import { freshSchema } from '../../support/postgres.js'
import { firstPerCompany, personMatches } from '../naive.js'
import { countedIds, stillClock } from '../open.js'
import { expectFound } from '../walk.js'

const inBench = async <T>(name: string): Promise<T> =>
  (await import(pathToFileURL(join(import.meta.dirname, '../../../scripts/bench', name)).href)) as T
const { companies, people } = await inBench<{
  companies(count: number): Iterable<Fields>
  people(count: number, employers: number): Iterable<Fields>
}>('population.js')
const { questions } = await inBench<{ questions: readonly PeopleFilters[] }>('questions.js')

/** Those of the bench, whose previews are measured among a million people, and ten of other kinds. */
const asked: readonly PeopleFilters[] = [
  ...questions,
  { job_titles: ['sales'], included_locations: ['GB'], company_size: ['1-10'] },
  { excluded_job_titles: ['senior', 'junior'], functions: ['25'], company_headquarters: ['JP'] },
  { past_titles: ['legal affairs'], seniority_levels: ['310'] },
  { keyword: 'robotics', max_per_company: 1 },
  { company_type: ['N'], excluded_locations: ['US', 'FR', 'GB'], years_of_experience: ['3'] },
  { first_name: 'Babaden' },
  { last_name: 'BADENKOR' },
  { excluded_industries: ['Retail', 'Hospitals'], seniority_levels: ['300'], included_locations: ['ES'] },
  { years_at_current_company: ['3'], functions: ['12'], included_locations: ['geo:2996944'] },
  { keyword: 'kubernetes', excluded_past_titles: ['sales'], max_per_company: 2 },
]

const staff = tries(4_000, 100_000)
const employers = staff / 5
const all = { companies: [...companies(employers)], people: [...people(staff, employers)] }

/** Companies as the catalogue says what they are. */
const companyOf = new Map(
  all.companies.map((company) => {
    const count = Number(company.headcount)
    const isOf = (size: string) => {
      const [from = Number.NaN, to = Number.POSITIVE_INFINITY] = (size.match(/\d+/g) ?? []).map(Number)
      return count >= from && count <= to
    }
    const type = Object.values(companyTypes).find((label) => label.startsWith(String(company.company_type)))
    return [company.domain, { ...company, employee_range: companySizes.find(isOf), company_type: type }]
  }),
)

/** What a reading of each record finds: the profiles, in their order. Both databases are compared with the same ones. */
const expected = (filters: PeopleFilters): readonly unknown[] => {
  const before = read.get(filters)
  if (before) return before
  const matches = all.people.filter((person) => {
    const company = companyOf.get(person.company_domain)
    return personMatches(person, company ? [company] : [], filters)
  })
  const urls = firstPerCompany(matches, filters.max_per_company).map((person) => person.network_profile_url)
  read.set(filters, urls)
  return urls
}
const read = new Map<PeopleFilters, readonly unknown[]>()

describe.each(['SQLite', 'PostgreSQL'])(`among ${staff.toLocaleString('en')} people in %s`, (database) => {
  let catalogue: Catalogue
  let drop = async () => {}
  beforeAll(async () => {
    let driver: Driver
    if (database === 'SQLite') driver = openSqlite(':memory:')
    else {
      const schema = await freshSchema()
      drop = schema.drop
      driver = await openShared(schema.url)
    }
    catalogue = await openCatalogue(driver, { clock: stillClock, ids: countedIds() })
    for (const kind of ['companies', 'people'] as const)
      expect((await catalogue.importRecords(kind, all[kind])).rejected).toEqual([])
  })
  afterAll(async () => {
    await catalogue.close()
    await drop()
  })

  it.each(asked)('a search has the pages of a reading of each record: %j', async (filters) => {
    const urls = expected(filters)
    const see = ({ lead }: { readonly lead: { readonly network_profile_url?: unknown } }) =>
      lead.network_profile_url
    await expectFound(catalogue, { kind: 'people', filters }, [25, 100, 500], see, urls)
  })

  it('most of these searches find somebody', async () => {
    const counts = await Promise.all(
      asked.map(async (filters) => catalogue.count({ kind: 'people', filters }, stillClock.now())),
    )
    expect(counts.filter((count) => count > 0).length).toBeGreaterThanOrEqual(tries(10, 25))
  })
})
