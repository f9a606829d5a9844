import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { liveOnlyFilters } from '../../src/api/schemas/enumerations.js'
import { closeAfterTest } from '../client/listeners.js'
import { expectAccessible, hasNoBrowser, takeScreenshot } from '../support/browser.js'
import type { Machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { isLong } from '../support/effort.js'
import { freshSchema } from '../support/postgres.js'
import { loadSample } from '../support/sample.js'
import { cellsOf, runOn, serveDashboard } from './dashboard.js'

const hostile = '<script>alert(1)</script><img src=x onerror=alert(2)>'

const ada = {
  full_name: 'Ada Hostile',
  title: hostile,
  network_profile_url: 'https://www.linkedin.com/in/ada-hostile',
  company_domain: 'hostile.example',
  past_positions: [
    { title: 'Analyst', company_name: hostile, started_at: '2015-01-01', ended_at: '2018-01-01' },
    { title: 'Programmer', company_name: 'Engines', started_at: '2018-02-01', ended_at: '2020-01-01' },
  ],
}

/** Imports sample data, unless it is left out, and a company and a person whose names are markup. */
async function importAll(
  here: Machine,
  env: Readonly<Record<string, string>> = {},
  hasSamples = true,
): Promise<void> {
  if (hasSamples)
    await (env.PROSPECT_DATABASE_URL === undefined
      ? loadSample(here.home)
      : runOn(here, 'data sample', { env }))
  const company = {
    name: hostile,
    domain: 'hostile.example',
    industry: hostile,
    headcount: 7,
    description: 'zzyzx',
  }
  await runOn(here, 'data import companies -', { stdin: JSON.stringify(company), env })
  await runOn(here, 'data import people -', { stdin: JSON.stringify(ada), env })
}

const firstOf = async (page: Page, name: string) => (await cellsOf(page, name)).map(([first]) => first)

describe.skipIf(hasNoBrowser)('the catalogue', () => {
  const full = perFile(() => serveDashboard(importAll))
  const empty = perFile(serveDashboard)

  it('has the filters of the API that choose records of this machine', async () => {
    for (const [path, id] of [
      ['catalogue', 'accounts.search_preview'],
      ['catalogue?of=people', 'leads.advanced_search_preview'],
    ] as const) {
      const page = await full.open(path)
      const shown = (await page.evaluate(
        "[...document.querySelectorAll('.field :is(input, select, textarea)')].map(({ name }) => name)",
      )) as string[]
      const live: readonly string[] = ['live', ...liveOnlyFilters]
      const known = Object.keys((await shapeOf(id)).input.shape).filter((name) => !live.includes(name))
      expect(shown.sort()).toEqual(known.sort())
    }
  })

  it('finds the companies of a preview in its order, and pages through all of them', async () => {
    const page = await full.open('catalogue')
    const sizes = ['201-500', '501-1000']
    await page.getByRole('listbox', { name: 'Company sizes' }).selectOption(sizes)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('region', { name: 'Companies', exact: true }).waitFor()
    const { total_count: total, preview } = await full.json<{
      total_count: number
      preview: { company_name: string }[]
    }>(`accounts search --preview --no-live --company-size ${sizes.join(' --company-size ')}`)
    expect(await firstOf(page, 'Companies')).toEqual(preview.map(({ company_name: name }) => name))
    expect(total).toBeGreaterThan(25)
    await page.getByRole('link', { name: 'Count all' }).click()
    await page.getByRole('heading', { name: `Results: ${total} companies` }).waitFor()
    const seen = await firstOf(page, 'Companies')
    while ((await page.getByRole('link', { name: 'Next page' }).count()) > 0) {
      const before = await firstOf(page, 'Companies')
      await page.getByRole('link', { name: 'Next page' }).click()
      await expect.poll(() => firstOf(page, 'Companies')).not.toEqual(before)
      seen.push(...(await firstOf(page, 'Companies')))
    }
    expect(seen).toHaveLength(total)
    await takeScreenshot(page, 'catalogue-results')
  })

  it('shows a company as it is exported, with headcount, technologies and jobs', async () => {
    const page = await full.open('catalogue?keyword=acme')
    await page.getByRole('link', { name: 'Acme Robotics' }).click()
    await page.getByRole('region', { name: 'Headcount history', exact: true }).waitFor()
    const exported = (await full.run(['data', 'export', 'companies', '--format', 'ndjson'])).stdout
      .split('\n')
      .filter((line) => line.includes('"acme-robotics.example"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find(({ domain }) => domain === 'acme-robotics.example')
    const facts = await page.locator('dl').innerText()
    for (const value of Object.values(exported ?? {}))
      if (typeof value === 'string' || typeof value === 'number')
        expect(facts.replace(/\s+/g, ' ')).toContain(String(value).replace(/\s+/g, ' '))
    const history = exported?.headcount_history as { date: string; headcount: number }[]
    expect((await cellsOf(page, 'Headcount history')).slice(0, 3).map(([date]) => date)).toEqual(
      history.slice(0, 3).map(({ date }) => date),
    )
    expect(await cellsOf(page, 'Technology details')).toHaveLength(
      ((exported?.technology_details ?? []) as unknown[]).length,
    )
    const { jobs } = await full.json<{ jobs: { job_title: string }[] }>(
      'accounts hiring --company-domain acme-robotics.example --limit 25',
    )
    expect(await firstOf(page, 'Jobs')).toEqual(jobs.map(({ job_title: title }) => title))
    await expectAccessible(page)
    await takeScreenshot(page, 'catalogue-company')
  })

  it('finds people, and shows one with the position history, as text', async () => {
    const page = await full.open('catalogue?of=people&first_name=Ada&last_name=Hostile')
    expect(await cellsOf(page, 'People')).toEqual([['Ada Hostile', hostile, hostile, '–']])
    await page.getByRole('link', { name: 'Ada Hostile' }).click()
    await page.getByRole('region', { name: 'Past positions', exact: true }).waitFor()
    expect(await cellsOf(page, 'Past positions')).toEqual(ada.past_positions.map((one) => Object.values(one)))
    await takeScreenshot(page, 'catalogue-person')
    await page.goBack()
    await page.getByRole('link', { name: hostile }).click()
    await page.getByRole('heading', { name: hostile }).waitFor()
    await page.getByRole('link', { name: 'People of this company' }).click()
    await page.getByRole('region', { name: 'People', exact: true }).waitFor()
    expect(await firstOf(page, 'People')).toEqual(['Ada Hostile'])
    expect(await page.locator('main :is(script, img)').count()).toBe(0)
  })

  it('says what to do: no record, no match, a filter that is wrong, an empty catalogue', async () => {
    for (const [here, path, text] of [
      [full, 'catalogue?id=nobody', 'There is no such record.'],
      [full, 'catalogue?keyword=qqqqqq', 'No company matches.'],
      [full, 'catalogue?min_revenue=5&max_revenue=1', 'min_revenue'],
      [full, 'catalogue?of=people&included_account_lists=7', "there is no list '7'"],
      [full, 'catalogue?keyword=a&after=%7B', 'Results'],
      [full, 'catalogue', 'Results: 501 companies'],
      [empty, 'catalogue?of=people', 'prospect data sample'],
    ] as const) {
      const page = await here.open(path)
      expect(await page.locator('main').innerText()).toContain(text)
      if (isLong || path === 'catalogue') await expectAccessible(page)
    }
  })

  it('shows the same views over PostgreSQL', async () => {
    const schema = await freshSchema()
    onTestFinished(() => schema.drop())
    const env = { PROSPECT_DATABASE_URL: schema.url }
    const shared = closeAfterTest(await serveDashboard((here) => importAll(here, env, isLong), { env }))
    const printed = await shared.run('accounts search --preview --no-live --keyword zzyzx --json', { env })
    expect(printed.json).toMatchObject({ total_count: 1 })
    const page = await shared.open('catalogue?keyword=zzyzx')
    expect(await firstOf(page, 'Companies')).toEqual([hostile])
    await page.getByRole('link', { name: hostile }).click()
    await page.getByRole('heading', { name: hostile }).waitFor()
  })
})
