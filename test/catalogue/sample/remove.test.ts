import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { kinds, type RecordKind } from '../../../src/catalogue/kinds/kind.js'
import { readSample } from '../../../src/catalogue/sample/sample.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { exported, loadPart, openEmpty, stillClock } from '../open.js'

const now = stillClock.now()
const all = readSample(now)
const [company = {}] = all.companies
const staff = all.people.filter(({ company_domain }) => company_domain === company.domain).slice(0, 4)
const [boss = {}] = staff
const [opening = {}] = all.jobs.filter(({ company_domain }) => company_domain === company.domain)
const [post = {}] = all.posts
const samples = { companies: all.companies.slice(0, 3), people: staff, jobs: [opening], posts: [post] }
const none = { companies: 0, people: 0, jobs: 0, posts: 0 }

/** Loads a part of the sample. */
async function load(catalogue: Catalogue): Promise<void> {
  for (const kind of kinds) await catalogue.importRecords(kind, samples[kind], 'sample')
}

const everything = async (catalogue: Catalogue) => {
  const found: Partial<Record<RecordKind, Fields[]>> = {}
  for (const kind of kinds) found[kind] = await exported(catalogue, kind)
  return found
}

/** Ids that a record is given when it comes first stay with it; what a technology is called is no invention. */
const toCompared = (records: readonly Fields[]) =>
  records
    .map(({ id: _, network_id, technology_details = [], ...record }) => ({
      ...record,
      ...(/^ACoAA/.test(String(network_id)) ? {} : { network_id }),
      technology_details: (technology_details as Fields[]).map(({ name, category, ...use }) => use),
    }))
    .sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)))

describe('removing the sample', () => {
  const catalogue = perTest(openEmpty)
  const own = (kind: RecordKind, ...records: Fields[]) => catalogue.importRecords(kind, records)

  it('leaves an empty catalogue where there is nothing else, and finds nothing the second time', async () => {
    await loadPart(catalogue)
    const { technologies, ...removed } = await catalogue.stats()
    expect(removed).toMatchObject({ companies: 30, posts: 40 })
    expect(await catalogue.removeSample()).toEqual({ removed, kept: none })
    expect(await catalogue.stats()).toEqual({ ...none, technologies: 0 })
    const search = { kind: 'people', filters: { keyword: 'director' } } as const
    expect(await catalogue.count(search, now)).toBe(0)
    expect(await catalogue.removeSample()).toEqual({ removed: none, kept: none })
    // What was answered from it is out of date.
    expect(await catalogue.origins()).toMatchObject({ sampleCompanies: 0, ownCompanies: 0, changedAt: now })
    await load(catalogue)
    expect(await catalogue.stats()).toMatchObject({ companies: 3, people: 4, jobs: 1, posts: 1 })
  })

  it('keeps own records as they are', async () => {
    const mine = { domain: 'mine.example', name: 'Mine', technologies: ['loom', 'abacus'] }
    const ann = {
      full_name: 'Ann Lee',
      email: 'ann@mine.example',
      company_domain: 'mine.example',
      phones: ['+33639980077'],
    }
    await own('companies', mine)
    await own('people', ann)
    const before = await everything(catalogue)
    await load(catalogue)
    await own('jobs', { job_title: 'Clerk', company_domain: 'mine.example' })
    await catalogue.removeSample()
    expect(await everything(catalogue)).toMatchObject({ ...before, jobs: [{ job_title: 'Clerk' }] })
    expect(await catalogue.stats()).toMatchObject({ technologies: 2 })
    expect(await catalogue.origins()).toMatchObject({
      sampleCompanies: 0,
      ownCompanies: 1,
      hasOwnPeople: true,
    })
    expect(await catalogue.reachable(['+33639980077'])).toEqual(new Set(['+33639980077']))
  })

  it('keeps of a record that own data has changed what own data says, and finds it by that', async () => {
    await load(catalogue)
    await own('companies', { domain: company.domain, description: 'Makes looms.', technologies: ['abacus'] })
    await own('people', {
      network_profile_url: boss.network_profile_url,
      title: 'Weaver',
      company_domain: 'new.example',
    })
    await own('jobs', { job_url: opening.job_url, job_title: 'Dyer', company_domain: company.domain })
    await own('posts', {
      post_url: post.post_url,
      engagers: [{ network_profile_url: 'https://www.network.example/in/ann-lee' }],
    })
    const kept = { companies: 1, people: 1, jobs: 1, posts: 1 }
    const removed = { companies: 2, people: 3, jobs: 0, posts: 0 }
    expect(await catalogue.removeSample()).toEqual({ removed, kept })
    const left = await everything(catalogue)
    expect(left.companies).toEqual([
      {
        id: company.id,
        domain: company.domain,
        description: 'Makes looms.',
        technologies: ['abacus'],
        technology_details: [
          { slug: 'abacus', name: 'Abacus', category: null, confidence: 1, job_mentions: 0 },
        ],
      },
      expect.objectContaining({ domain: 'new.example' }),
    ])
    expect(left.people).toEqual([
      {
        id: boss.id,
        network_id: boss.network_id,
        network_profile_url: boss.network_profile_url,
        title: 'Weaver',
        company_domain: 'new.example',
      },
    ])
    expect(left.jobs).toEqual([
      { job_title: 'Dyer', job_url: opening.job_url, company_domain: company.domain },
    ])
    expect(left.posts).toEqual([
      {
        post_url: post.post_url,
        engagers: [{ network_profile_url: 'https://www.network.example/in/ann-lee', engagement: 'reaction' }],
      },
    ])
    const counted = async (keyword: string) => [
      await catalogue.count({ kind: 'companies', filters: { keyword } }, now),
      await catalogue.count({ kind: 'people', filters: { keyword } }, now),
    ]
    expect([await counted('looms'), await counted('weaver'), await counted('robot')]).toEqual([
      [1, 0],
      [0, 1],
      [0, 0],
    ])
  })

  it('gives a record back that was there before the sample changed it', async () => {
    const mine = { domain: company.domain, name: 'Mine', headcount: 3, technologies: ['abacus'] }
    const person = { ...boss, title: 'Weaver', phones: ['+33639980077'], company_domain: company.domain }
    await own('companies', mine)
    await own('people', person)
    const before = await everything(catalogue)
    await load(catalogue)
    expect((await everything(catalogue)).companies?.[0]).toMatchObject({ name: company.name })
    expect(await catalogue.removeSample()).toMatchObject({ kept: { ...none, companies: 1, people: 1 } })
    expect(await everything(catalogue)).toEqual(before)
  })

  it('keeps the name and the domain of a company where own people work', async () => {
    await load(catalogue)
    await own('people', { full_name: 'Ann Lee', email: 'ann@x.example', company_domain: company.domain })
    expect(await catalogue.removeSample()).toMatchObject({ kept: { ...none, companies: 1 } })
    const { id, name, domain, network_id, network_url } = company
    const left = await everything(catalogue)
    expect(left.companies).toEqual([expect.objectContaining({ id, name, domain, network_id, network_url })])
    expect(left.companies?.[0]).not.toHaveProperty('headcount')
    expect(left.companies?.[0]).not.toHaveProperty('headcount_history')
    expect(left.people).toMatchObject([{ full_name: 'Ann Lee', company_domain: domain }])
  })

  it('leaves what own imports alone would have made, whenever the sample came', async () => {
    const domain = fc.constantFrom(
      ...samples.companies.map((one) => String(one.domain)),
      'a.example',
      'b.example',
    )
    const profile = fc.constantFrom(
      ...staff.map(({ network_profile_url: url }) => String(url)),
      'https://www.network.example/in/ann-lee',
    )
    const text = fc.constantFrom('Looms', 'Dyes', 'Robots')
    const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
    const entry = fc.record({
      date: fc.constantFrom('2026-01-01', '2026-03-10'),
      department: fc.constant('All'),
      headcount: fc.nat(9),
    })
    const records = {
      companies: fc.record({
        domain,
        description: optional(text),
        headcount: optional(fc.nat(9)),
        technologies: optional(fc.constantFrom(['sap'], ['abacus', 'c++'])),
        headcount_history: optional(fc.array(entry, { minLength: 1, maxLength: 2 })),
      }),
      people: fc.record({
        network_profile_url: profile,
        title: optional(text),
        email: optional(fc.constantFrom('x@a.example', 'y@a.example')),
        company_domain: optional(domain),
        phones: optional(fc.constantFrom(['+33639980077'], ['+33639980078', '+33639980079'])),
      }),
      jobs: fc.record({
        job_url: fc.constantFrom(String(opening.job_url), 'https://a.example/1'),
        job_title: text,
        company_domain: domain,
      }),
      posts: fc.record({
        post_url: fc.constantFrom(String(post.post_url), 'https://www.network.example/posts/1'),
        text: optional(text),
        engagers: fc.array(
          fc.record({ network_profile_url: profile, engagement: fc.constantFrom('comment', 'reaction') }),
          { maxLength: 2 },
        ),
      }),
    } as const
    const imported = fc.oneof(
      ...kinds.map((kind) =>
        fc.tuple(
          fc.constant(kind),
          fc.array(records[kind] as fc.Arbitrary<Fields>, { minLength: 1, maxLength: 3 }),
        ),
      ),
    )
    const steps = fc.array(fc.option(imported, { nil: 'sample' as const }), { minLength: 1, maxLength: 7 })
    const property = fc.asyncProperty(steps, async (history) => {
      const [mixed, alone] = [await openEmpty(), await openEmpty()]
      for (const step of history)
        if (step === 'sample') await load(mixed)
        else for (const one of [mixed, alone]) await one.importRecords(...step)
      await mixed.removeSample()
      const [left, expected] = [await everything(mixed), await everything(alone)]
      // A company that is only named keeps the name that the sample gave it.
      const said = new Set(
        history
          .flatMap((step) => (step[0] === 'companies' ? (step[1] as Fields[]) : []))
          .map((one) => one.domain),
      )
      const isSaid = ({ domain: of }: Fields) => said.has(of)
      // One that only an earlier record named goes.
      const named = [...(expected.people ?? []), ...(expected.jobs ?? [])].map((one) => one.company_domain)
      const has = new Set(left.companies?.map((one) => one.domain))
      expect([...said, ...named].filter((one) => one !== undefined && !has.has(one))).toEqual([])
      for (const kind of kinds) {
        const [stored, should] = [left, expected].map((found) =>
          toCompared((found[kind] ?? []).filter((record) => kind !== 'companies' || isSaid(record))),
        )
        expect(stored).toEqual(should)
      }
      for (const one of [mixed, alone]) await one.close()
    })
    await fc.assert(property, { numRuns: tries(20, 200), seed: Date.now() })
  })
})
