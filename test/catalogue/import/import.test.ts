import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Connection, Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import words from '../../fixtures/exports/status-words.json' with { type: 'json' }
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { bytesOf, exported, openEmpty } from '../open.js'

describe('companies that are imported', () => {
  const catalogue = perTest(openEmpty)
  const take = (...companies: Fields[]) => catalogue.importRecords('companies', companies)

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
})

describe('people that are imported', () => {
  const catalogue = perTest(openEmpty)
  const people = () => exported(catalogue, 'people')
  const take = (...given: Fields[]) => catalogue.importRecords('people', given)

  it('have the status of their address in the words of any tool', async () => {
    const file = words.map(({ word }, at) => `p${at}@acme.example,${word}`)
    const more = ['q@acme.example,Unverifiable', 'r@acme.example,perhaps']
    const text = ['Email,Email Status', ...file, ...more].join('\n')
    const { rejected, leftOut } = await catalogue.importFile('people', bytesOf(text))
    // A status that says nothing vouches for no address.
    const statusOf = (means: string, word: string) =>
      means !== 'none' ? means : word.trim() === '' ? 'valid' : 'risky'
    expect((await people()).map(({ email_status }) => email_status)).toEqual([
      ...words.map(({ means, word }) => statusOf(means, word)),
      'risky',
      'risky',
    ])
    expect([rejected, leftOut]).toEqual([[], [{ field: 'email_status', values: 1, sample: 'perhaps' }]])
  })

  it('get a generated id when they have none', async () => {
    await take({ email: 'x@acme.example' })
    expect(await people()).toMatchObject([{ network_id: expect.stringMatching(/^ACoAA[\w-]{20,}$/) }])
  })

  it('create a missing company that is identified by domain or profile', async () => {
    const report = await take(
      { email: 'a@ghost.example', company_domain: 'ghost.example', company_name: 'Ghost Ltd' },
      { email: 'b@ghost.example', company_domain: 'ghost.example' },
      { email: 'c@vague.example', company_name: 'Vague' },
    )
    expect(report).toMatchObject({ added: 3, companies: 1 })
    expect(await catalogue.company({ domain: 'ghost.example' })).toMatchObject({ name: 'Ghost Ltd' })
    expect(await catalogue.company({ name: 'Vague' })).toBeUndefined()
    expect((await people())[2]).toMatchObject({ company_name: 'Vague' })
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
    const catalogue = await openEmpty(failingAt(driver, 6_000))
    const companies = Array.from({ length: 10_000 }, (_, n) => ({
      domain: `c${n}.example`,
      technologies: ['go'],
    }))
    await expect(catalogue.importRecords('companies', companies)).rejects.toThrow('the disk is full')
    const { companies: kept } = await catalogue.stats()
    const uses = await driver.read((connection) =>
      connection.get('SELECT count(*) AS n FROM company_technologies'),
    )
    expect(kept).toBe(5_000)
    expect(uses).toEqual({ n: kept })
    await catalogue.importRecords('companies', companies)
    expect((await catalogue.stats()).companies).toBe(10_000)
    await catalogue.close()
  })

  it('commits often, so that other processes need not wait', async () => {
    const clock = { time: 0, now: () => (clock.time += 500) }
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
    expect(commits).toBe(10)
    expect((await catalogue.stats()).companies).toBe(1_000)
    await catalogue.close()
  })
})
