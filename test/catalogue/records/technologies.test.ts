import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { openShared } from '../../../src/storage/database/open.js'
import type { Connection } from '../../../src/storage/driver/connection.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { freshSchema } from '../../support/postgres.js'
import { openEmpty, openWith } from '../open.js'

describe('technologies', () => {
  let catalogue: Catalogue
  beforeAll(async () => {
    const technology_details = [
      { slug: 'react-native', name: 'React Native', category: 'Mobile' },
      { slug: 'react', name: 'React', category: 'Frontend' },
      { slug: 'node-js', name: 'Node.js' },
      { slug: 'c++', name: 'C++' },
      { slug: 'c#', name: 'C#' },
      { slug: 'c', name: 'C' },
      { slug: 'preact', name: 'Preact' },
      { slug: 'google-analytics', name: 'Google Analytics' },
    ]
    catalogue = await openWith([{ domain: 'acme.example', technology_details }])
  })
  afterAll(() => catalogue.close())

  const slugs = async (query: string, limit = 20) =>
    (await catalogue.technologies(query, limit)).map(({ slug }) => slug)

  it.each(casesOf<[string, string[]]>('catalogue/records/technologies/are-found-by-best'))(
    'are found by %s, best match first',
    async (query, expected) => {
      expect(await slugs(query)).toEqual(expected)
    },
  )

  it('are all returned in the order of their slugs for an empty query', async () => {
    expect(await slugs('')).toEqual([...(await slugs(' '))].sort())
    expect(await slugs('')).toHaveLength(8)
  })

  it('are at most as many as the limit', async () => {
    expect(await slugs('react', 2)).toEqual(['react', 'react-native'])
    expect(await slugs('', 3)).toHaveLength(3)
  })

  it('have a name, and a category when it is known', async () => {
    expect(await catalogue.technologies('react', 1)).toEqual([
      { slug: 'react', name: 'React', category: 'Frontend' },
    ])
    expect(await catalogue.technologies('c++', 1)).toEqual([{ slug: 'c++', name: 'C++', category: null }])
  })
})

it('imports the technologies of thousands of companies at once', async () => {
  const count = tries(2_200, 4_500)
  const catalogue = await openWith(
    Array.from({ length: count }, (_, number) => ({
      domain: `c${number}.example`,
      name: `Company ${number}`,
      technology_details: [{ slug: 'react', name: 'React', category: 'Frontend' }],
      headcount_history: [{ date: '2026-03-01', headcount: number }],
    })),
  )
  expect(await catalogue.stats()).toMatchObject({ companies: count, technologies: 1 })
  await catalogue.close()
})

it('reads technologies once for each portion of an import into PostgreSQL', async () => {
  const schema = await freshSchema()
  const driver = await openShared(schema.url)
  let read = 0
  const counting = (connection: Connection): Connection => {
    const count = (sql: string) => {
      if (sql.includes('FROM technologies')) read++
    }
    return {
      ...connection,
      get: (sql, ...values) => {
        count(sql)
        return connection.get(sql, ...values)
      },
      all: (sql, ...values) => {
        count(sql)
        return connection.all(sql, ...values)
      },
    }
  }
  const catalogue = await openEmpty({
    ...driver,
    transaction: (work, scope) => driver.transaction((connection) => work(counting(connection)), scope),
  })
  const companies = (category: string) =>
    Array.from({ length: 600 }, (_, number) => ({
      domain: `c${number}.example`,
      technology_details: [0, 1].map((more) => ({ slug: `t${(number + more) % 8}`, name: 'T', category })),
    }))
  const statements = async (category: string) => {
    read = 0
    await catalogue.importRecords('companies', companies(category))
    return read
  }
  // Where there are new ones, their keys are read after they are written.
  expect([await statements('A'), await statements('A'), await statements('B')]).toEqual([2 + 1, 2, 2])
  expect(await catalogue.technologies('t7', 1)).toEqual([{ slug: 't7', name: 'T', category: 'B' }])
  await catalogue.close()
  await schema.drop()
})
