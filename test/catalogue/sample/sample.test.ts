import { createReadStream } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import { kinds } from '../../../src/catalogue/kinds/kind.js'
import { loadSample, sampleData } from '../../../src/catalogue/sample/sample.js'
import { perFile } from '../../support/each.js'
import { openEmpty, stillClock } from '../open.js'

const now = stillClock.now()
const examples = new URL('../../../docs/examples/', import.meta.url)

async function made(seed: number) {
  const sample = await sampleData({ companies: 60, people: 400, seed, now })
  return {
    companies: [...sample.companies],
    people: [...sample.people],
    jobs: [...sample.jobs],
    posts: [...sample.posts],
  }
}

describe('the sample', () => {
  it('is the same for the same seed, and different for another', async () => {
    const first = await made(1)
    expect(await made(1)).toEqual(first)
    expect((await made(2)).people).not.toEqual(first.people)
  })

  it('begins with the same companies whatever the seed', async () => {
    const known = ({ name, domain, headcount }: Fields) => ({ name, domain, headcount })
    expect((await made(1)).companies.slice(0, 25).map(known)).toEqual(
      (await made(2)).companies.slice(0, 25).map(known),
    )
  })

  it('has as many records as requested', async () => {
    const { companies, people } = await made(1)
    expect([companies.length, people.length]).toEqual([60, 400])
  })

  it('names only domains that nobody can own', async () => {
    const text = JSON.stringify(await made(1))
    const hosts = [
      ...text.matchAll(/(?:https?:\/\/|@)([^/"\s]+)|"(?:domain|company_domain)":"([^"]+)"/g),
    ].map((match) => match[1] ?? match[2] ?? '')
    expect(hosts.length).toBeGreaterThan(1_000)
    expect(hosts.filter((host) => !host.endsWith('.example'))).toEqual([])
  })

  it('has only phone numbers that are reserved for fiction', async () => {
    const { companies, people } = await made(1)
    const numbers = [
      ...companies.map(({ phone }) => phone),
      ...people.flatMap(({ phones }) => phones ?? []),
    ].filter(Boolean)
    const reserved =
      /^(\+33(63998|19900|26191)\d{4}|\+1(212|512|617|416)55501\d\d|\+44(7700900|2079460|1134960)\d{3}|\+4917139200\d\d|\+493023125\d{3}|\+467017406\d\d)$/
    expect(numbers.length).toBeGreaterThan(50)
    expect(numbers.filter((number) => !reserved.test(String(number)))).toEqual([])
  })

  it('has a year of headcounts that end with the current headcount', async () => {
    const { companies } = await made(1)
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
    const reports = await loadSample(catalogue, { companies: 60, people: 300, now })
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
