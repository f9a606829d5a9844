import { createReadStream } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import { kinds } from '../../../src/catalogue/kinds/kind.js'
import { loadSample, readSample } from '../../../src/catalogue/sample/sample.js'
import { perFile } from '../../support/each.js'
import { openEmpty, stillClock } from '../open.js'

const now = stillClock.now()
const examples = new URL('../../../docs/examples/', import.meta.url)

const made = readSample(now)

describe('the sample', () => {
  it('has 500 companies and 5,000 people', () => {
    const { companies, people } = made
    expect([companies.length, people.length]).toEqual([500, 5_000])
  })

  it('names only domains that nobody can own', () => {
    const text = JSON.stringify(made)
    const hosts = [
      ...text.matchAll(/(?:https?:\/\/|@)([^/"\s]+)|"(?:domain|company_domain)":"([^"]+)"/g),
    ].map((match) => match[1] ?? match[2] ?? '')
    expect(hosts.length).toBeGreaterThan(1_000)
    expect(hosts.filter((host) => !host.endsWith('.example'))).toEqual([])
  })

  it('has only phone numbers that are reserved for fiction', () => {
    const { companies, people } = made
    const numbers = [
      ...companies.map(({ phone }) => phone),
      ...people.flatMap(({ phones }) => phones ?? []),
    ].filter(Boolean)
    const reserved =
      /^(\+33(63998|19900|26191)\d{4}|\+1(212|512|617|416)55501\d\d|\+44(7700900|2079460|1134960)\d{3}|\+4917139200\d\d|\+493023125\d{3}|\+467017406\d\d)$/
    expect(numbers.length).toBeGreaterThan(50)
    expect(numbers.filter((number) => !reserved.test(String(number)))).toEqual([])
  })

  it('has a year of headcounts that end with the current headcount', () => {
    const { companies } = made
    for (const { headcount, headcount_history } of companies) {
      const all = (headcount_history as Fields[]).filter(({ department }) => department === 'All')
      expect(all.length).toBeGreaterThan(12)
      expect(all[0]).toEqual({ date: '2026-03-10', department: 'All', headcount })
    }
  })
})

describe('a catalogue with the sample', () => {
  const catalogue = perFile(openEmpty)
  beforeAll(async () => {
    const reports = await loadSample(catalogue, now)
    for (const kind of kinds)
      expect(reports[kind]).toMatchObject({ updated: 0, rejectedTotal: 0, companies: 0 })
  })

  it('imports the example file of companies with the columns that it has', async () => {
    const empty = await openEmpty()
    const report = await empty.importFile('companies', createReadStream(new URL('companies.csv', examples)))
    await empty.close()
    expect(report.mapping).toEqual({ name: 'Company Name', website: 'Website', country: 'Country' })
  })

  it('imports the example file of people without a rejected line', async () => {
    const report = await catalogue.importFile('people', createReadStream(new URL('people.csv', examples)))
    expect(report).toMatchObject({ added: 8, companies: 0, rejectedTotal: 0, ignored: [] })
  })
})
