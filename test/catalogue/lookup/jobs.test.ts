import { describe, expect, it } from 'vitest'
import type { JobFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith, stillClock } from '../open.js'

const now = stillClock.now()

describe('the jobs of a company', () => {
  const job = (id: string, more: Fields): Fields => ({
    job_url: `https://jobs.acme.example/${id}`,
    job_title: 'Clerk',
    company_domain: 'acme.example',
    ...more,
  })
  const companies = [
    { name: 'Acme SA', domain: 'acme.example', network_url: 'https://www.network.example/company/acme' },
    { domain: 'bare.example' },
  ]
  const jobs = [
    job('old', { date_posted: '2026-01-02', job_title: 'Senior Data Engineer', country_code: 'FR' }),
    job('edge', { date_posted: '2026-03-03', job_title: 'Ingénieur Données', country_code: 'BE' }),
    job('new', {
      date_posted: '2026-03-09',
      job_title: 'Engineer of Data',
      description: 'Works with PostgreSQL, and "quotes".',
      country_code: 'DE',
      employment_statuses: ['Full-time'],
      hiring_team: [{ name: 'Ada Byron', title: { deep: 1 } }],
    }),
    job('undated', { description: 'Works with a pencil' }),
    job('other', { company_domain: 'other.example', date_posted: '2026-03-10' }),
  ]
  const catalogue = perFile(() => openWith(companies, { jobs }))

  const ask = (filters: JobFilters, limit = 100) =>
    catalogue.jobs({ domain: 'acme.example' }, filters, limit, now)
  const found = async (filters: JobFilters) =>
    (await ask(filters))?.jobs.map(({ job_url }) => job_url?.split('/').at(-1))

  it('are returned newest first, those without a date last', async () => {
    expect(await found({})).toEqual(['new', 'edge', 'old', 'undated'])
  })

  it('are all counted even if the limit is lower', async () => {
    const answer = await ask({}, 1)
    expect([answer?.total, answer?.jobs.length]).toEqual([4, 1])
  })

  it('have every key, and their company', async () => {
    expect((await ask({}, 1))?.jobs[0]).toEqual({
      job_title: 'Engineer of Data',
      job_url: 'https://jobs.acme.example/new',
      job_location: null,
      country_code: 'DE',
      employment_statuses: ['Full-time'],
      date_posted: '2026-03-09',
      description: 'Works with PostgreSQL, and "quotes".',
      hiring_team: [{ name: 'Ada Byron', title: null, network_url: null }],
      company: {
        name: 'Acme SA',
        domain: 'acme.example',
        network_url: 'https://www.network.example/company/acme',
      },
    })
  })

  it.each(casesOf<[string, JobFilters, string[]]>('catalogue/lookup/jobs/are-found-by'))(
    'are found by %s',
    async (_, filters, jobs) => {
      expect(await found(filters)).toEqual(jobs)
    },
  )

  it('are found with as many and as long keywords as a request may have', async () => {
    const words = Array.from({ length: 1_000 }, (_, at) => `word${at} `.repeat(50).trim())
    expect(await found({ job_title_keywords: [...words, 'clerk'] })).toEqual(['undated'])
  })

  it('are an empty list for a company without jobs, and undefined for an unknown company', async () => {
    expect(await catalogue.jobs({ domain: 'bare.example' }, {}, 9, now)).toEqual({ total: 0, jobs: [] })
    expect(await catalogue.jobs({ domain: 'ghost.example' }, {}, 9, now)).toBeUndefined()
  })
})
