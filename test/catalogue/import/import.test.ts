import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Connection, Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { exported, openEmpty } from '../open.js'

const profile = (slug: string) => `https://www.network.example/company/${slug}`

describe('companies that are imported', () => {
  const catalogue = perTest(openEmpty)
  const take = (...companies: Fields[]) => catalogue.importRecords('companies', companies)

  it('are added once, then updated with the new values', async () => {
    expect(await take({ domain: 'acme.example', name: 'Acme', city: 'Lyon' })).toMatchObject({
      added: 1,
      updated: 0,
    })
    expect(await take({ domain: 'www.acme.example', name: 'Acme SAS', city: '' })).toMatchObject({
      added: 0,
      updated: 1,
    })
    expect(await exported(catalogue, 'companies')).toMatchObject([
      { domain: 'acme.example', name: 'Acme SAS', city: 'Lyon' },
    ])
  })

  it('keep their id', async () => {
    await take({ domain: 'acme.example' })
    const [{ id } = {}] = await exported(catalogue, 'companies')
    await take({ domain: 'acme.example', id: 'another', name: 'Acme' })
    expect(await exported(catalogue, 'companies')).toMatchObject([{ id, name: 'Acme' }])
  })

  it('are the same by domain within one import', async () => {
    expect(await take({ domain: 'acme.example' }, { domain: 'ACME.example' })).toMatchObject({
      added: 1,
      updated: 1,
    })
  })

  it('are the same by profile when one of them has no domain', async () => {
    await take({ network_url: profile('acme'), name: 'Acme' })
    await take({ network_url: profile('acme'), domain: 'acme.example' })
    await take({ network_url: profile('ACME'), city: 'Lyon' })
    expect(await exported(catalogue, 'companies')).toMatchObject([
      { name: 'Acme', domain: 'acme.example', city: 'Lyon' },
    ])
  })

  it('are different by domain though they share a profile', async () => {
    await take(
      { network_url: profile('acme'), domain: 'acme.example' },
      { network_url: profile('acme'), domain: 'acme-fr.example' },
    )
    expect((await catalogue.stats()).companies).toBe(2)
    const { rejected } = await take({ network_url: profile('acme'), name: 'Acme' })
    expect(rejected).toEqual([{ line: 1, reason: expect.stringContaining('domain') }])
  })

  it('derive the size from the headcount, and a cleaned name', async () => {
    await take({ domain: 'acme.example', name: 'Acme GmbH', headcount: '1,200' })
    await take({ domain: 'birch.example', headcount: '51 – 200 employees' })
    expect(await catalogue.company({ domain: 'acme.example' })).toMatchObject({
      headcount: 1_200,
      employee_range: '1001-5000',
      cleaned_name: 'Acme',
    })
    expect(await catalogue.company({ domain: 'birch.example' })).toMatchObject({
      headcount: null,
      employee_range: '51-200',
    })
  })

  it.each<[string, Fields, string]>([
    ['nothing that identifies it', { name: 'Acme' }, 'needs a domain'],
    ['text for a domain', { domain: 'not a domain' }, 'domain: no website domain'],
    ['a mailbox at a host of many', { domain: 'ada@gmail.com' }, 'domain: no website domain'],
    ['a page at a host of many', { domain: 'https://facebook.com/acme' }, 'domain: no website domain'],
    ['the host of another company', { domain: 'tiktok.com', name: 'Acme' }, 'domain: '],
  ])('are rejected with %s', async (_, company, reason) => {
    const { rejected } = await take(company)
    expect(rejected).toEqual([{ line: 1, reason: expect.stringContaining(reason) }])
    expect(await exported(catalogue, 'companies')).toEqual([])
  })

  it('have the domain of an email address, and the bare host that is their own', async () => {
    await take(
      { name: 'Acme', domain: 'Bob <bob@acme.example>' },
      { name: 'HEY', domain: 'hey.com' },
      { name: 'TikTok™ (HQ)', website: 'https://www.tiktok.com/' },
      { name: 'Birch', website: 'info@birch.example' },
    )
    const stored = await exported(catalogue, 'companies')
    expect(stored.map(({ domain, website }) => [domain, website ?? null])).toEqual([
      ['acme.example', null],
      ['hey.com', null],
      ['tiktok.com', 'https://www.tiktok.com/'],
      ['birch.example', null],
    ])
  })

  it.each(casesOf<[string, Fields, string]>('catalogue/import/import/are-read-without-which'))(
    'are read without %s, which is counted and named',
    async (_, company, field) => {
      const report = await take({ domain: 'x.example' }, { ...company, city: 'Paris' })
      expect(report).toMatchObject({ added: 2, rejectedTotal: 0 })
      expect(report.leftOut).toEqual([{ field, values: 1, sample: expect.any(String) }])
      const stored = (await exported(catalogue, 'companies'))[1]
      expect(stored).toMatchObject({ domain: 'acme.example', city: 'Paris' })
      expect(stored).not.toHaveProperty(field)
    },
  )

  it('are all counted when rejected, also beyond the reported ones', async () => {
    const report = await take(...Array.from({ length: 1_200 }, () => ({ name: 'x' })))
    expect(report.rejected).toHaveLength(1_000)
    expect(report.rejectedTotal).toBe(1_200)
  })

  it('may have their details as JSON in a cell, and correct the name of a technology', async () => {
    await take({
      domain: 'acme.example',
      technology_details: [{ slug: 'react', name: 'Reakt' }],
      headcount_history: ' ',
    })
    await take({ domain: 'acme.example', technology_details: '[{"slug":"react","name":"React"}]' })
    expect(await catalogue.technologies('react', 1)).toMatchObject([{ name: 'React' }])
  })

  it('use technologies by slug, with confidence 1 by default', async () => {
    await take({ domain: 'acme.example', technologies: 'react; Node JS ;react' })
    await take({
      domain: 'acme.example',
      technology_details: [
        { slug: 'react', name: 'React', confidence: 'low', job_mentions: 3 },
        { slug: 'go' },
      ],
    })
    const [company] = await exported(catalogue, 'companies')
    expect(company).toMatchObject({
      technologies: ['react', 'go'],
      technology_details: [
        { slug: 'react', name: 'React', confidence: 0.3, job_mentions: 3 },
        { slug: 'go', name: 'Go', confidence: 1, job_mentions: 0 },
      ],
    })
    await take({ domain: 'acme.example', technologies: ['react'] })
    expect((await exported(catalogue, 'companies'))[0]).toMatchObject({
      technology_details: [{ slug: 'react', confidence: 0.3, job_mentions: 3 }],
    })
  })

  it('add to their headcount history by day and department', async () => {
    await take({
      domain: 'acme.example',
      headcount_history: [
        { date: '2026-01-01', headcount: 10 },
        { date: '2026-01-01', department: 'Sales', headcount: 2 },
      ],
    })
    await take({
      domain: 'acme.example',
      headcount_history: [
        { date: '2026-01-01', headcount: 11 },
        { date: '2026-02-01', headcount: 12 },
      ],
    })
    expect((await exported(catalogue, 'companies'))[0]?.headcount_history).toEqual([
      { date: '2026-01-01', department: 'All', headcount: 11 },
      { date: '2026-02-01', department: 'All', headcount: 12 },
      { date: '2026-01-01', department: 'Sales', headcount: 2 },
    ])
  })

  it('are found by the words of their new texts, not of the old ones', async () => {
    const driver = openSqlite(':memory:')
    const words = await openEmpty(driver)
    const hits = (word: string) =>
      driver.read((connection) =>
        connection.all('SELECT rowid FROM companies_text WHERE companies_text MATCH ?', word),
      )
    await words.importRecords('companies', [
      { domain: 'acme.example', name: 'Acmé', description: 'robot arms' },
    ])
    expect(await hits('acme AND robot')).toHaveLength(1)
    await words.importRecords('companies', [{ domain: 'acme.example', description: 'coffee' }])
    expect(await hits('robot')).toHaveLength(0)
    expect(await hits('"acme" AND coffee')).toHaveLength(1)
    await words.close()
  })
})

describe('an import that is cut short', () => {
  /** A driver whose database fails at the n-th insert of a company. */
  function failingAt(driver: Driver, insert: number): Driver {
    let count = 0
    const failing = (connection: Connection): Connection => ({
      ...connection,
      run: (sql, ...values) => {
        if (sql.startsWith('INSERT INTO companies (') && ++count === insert)
          throw new Error('the disk is full')
        return connection.run(sql, ...values)
      },
    })
    return { ...driver, transaction: (work) => driver.transaction((connection) => work(failing(connection))) }
  }

  it('keeps whole transactions, and no partial record', async () => {
    const driver = openSqlite(':memory:')
    const catalogue = await openEmpty(failingAt(driver, 2_500))
    const companies = Array.from({ length: 5_000 }, (_, n) => ({
      domain: `c${n}.example`,
      technologies: ['go'],
    }))
    await expect(catalogue.importRecords('companies', companies)).rejects.toThrow('the disk is full')
    const { companies: kept } = await catalogue.stats()
    const uses = await driver.read((connection) =>
      connection.get('SELECT count(*) AS n FROM company_technologies'),
    )
    expect(kept).toBe(2_000)
    expect(uses).toEqual({ n: kept })
    await catalogue.importRecords('companies', companies)
    expect((await catalogue.stats()).companies).toBe(5_000)
    await catalogue.close()
  })

  it('commits often, so that other processes need not wait', async () => {
    const clock = { time: 0, now: () => clock.time++ }
    const driver = openSqlite(':memory:')
    let commits = 0
    const counting: Driver = {
      ...driver,
      transaction: (work) => {
        commits += 1
        return driver.transaction(work)
      },
    }
    const catalogue = await openEmpty(counting, clock)
    commits = 0
    await catalogue.importRecords(
      'companies',
      Array.from({ length: 1_000 }, (_, n) => ({ domain: `c${n}.example` })),
    )
    expect(commits).toBeGreaterThan(10)
    expect((await catalogue.stats()).companies).toBe(1_000)
    await catalogue.close()
  })
})
