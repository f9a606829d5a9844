import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasNoBrowser, sharedBrowser } from '../support/browser.js'
import { isLong } from '../support/effort.js'
import { freshSchema, type TestDatabase } from '../support/postgres.js'
import { launch, prospect } from '../support/processes.js'
import { type ServedDashboard, serveDashboard } from './dashboard.js'

describe.skipIf(hasNoBrowser).each(['SQLite', 'PostgreSQL'] as const)('a page on %s', (database) => {
  let browser: Browser
  let here: ServedDashboard
  let schema: TestDatabase | undefined
  let env: Record<string, string> = {}

  /** Runs a command in a process of its own. */
  const run = async (...argv: string[]) => {
    const { exitCode, stderr } = await launch(prospect, argv, here.home, { PROSPECT_HOME: here.home, ...env })
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
  }

  beforeAll(async () => {
    browser = await sharedBrowser()
    if (database === 'PostgreSQL') {
      schema = await freshSchema()
      env = { PROSPECT_DATABASE_URL: schema.url }
    }
    here = await serveDashboard(
      (machine) =>
        machine
          .run(['data', 'sample', '--yes', '--companies', '60', '--people', '80'], { env })
          .then(() => {}),
      { env },
    )
  })
  afterAll(async () => {
    await Promise.all([here?.close()])
    await schema?.drop()
  })

  it('shows a change of another process without a reload', async () => {
    const { page, problems, close } = await here.open(browser)
    await page.getByText('Live', { exact: true }).waitFor()
    await run('engine', 'credits', 'set', '4321')
    await page.locator('.figure', { hasText: '4,321' }).waitFor()
    await run('accounts', 'enrich', '--domain', 'acme-robotics.example')
    await page.getByRole('region', { name: 'Credits by operation' }).waitFor()
    expect(await page.locator('.figure').textContent()).toBe('4,320')
    expect(existsSync(join(here.home, 'engine.db'))).toBe(database === 'SQLite')
    expect(problems).toEqual([])
    await close()
  })

  it.runIf(isLong || database === 'PostgreSQL')('shows every view', async () => {
    const { page, problems, close } = await here.open(browser)
    for (const link of await page.locator('nav a').all()) {
      await link.click()
      await page.locator('h1', { hasText: (await link.textContent()) ?? '' }).waitFor()
    }
    expect(problems).toEqual([])
    await close()
  })

  it('lists runs of other machines only where they are shared, and says so', async () => {
    const { page, close } = await here.open(browser, 'runs')
    const text = await page.locator('main').textContent()
    expect(text).toContain('Runs of other machines are visible only when they are shared')
    const link = page.getByRole('link', { name: 'Runs that machines share' })
    if (database === 'SQLite') expect(await link.count()).toBe(0)
    else {
      await link.click()
      await page.getByText('These runs are in the shared database').waitFor()
    }
    await close()
  })
})
