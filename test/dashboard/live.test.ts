import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasNoBrowser } from '../support/browser.js'
import { perFile } from '../support/each.js'
import { isLong } from '../support/effort.js'
import { newFolder } from '../support/new-folder.js'
import { launch, prospect } from '../support/processes.js'
import { loadSample, sampledDatabase } from '../support/sample.js'
import { serveDashboard } from './dashboard.js'

describe.skipIf(hasNoBrowser).each(['SQLite', 'PostgreSQL'] as const)('a page on %s', (database) => {
  const home = perFile(newFolder)
  const shared = database === 'PostgreSQL' ? perFile(() => sampledDatabase(home.path)) : undefined
  const envOf = () => (shared ? { PROSPECT_DATABASE_URL: shared.url } : {})
  const here = perFile(async () => {
    if (!shared) await loadSample(home.path)
    return serveDashboard((made) => cpSync(home.path, made.home, { recursive: true }), { env: envOf() })
  })

  /** Runs a command in a process of its own. */
  const run = async (...argv: string[]) => {
    const { exitCode, stderr } = await launch(prospect, argv, here.home, {
      PROSPECT_HOME: here.home,
      ...envOf(),
    })
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
  }

  it('shows a change of another process without a reload', async () => {
    const page = await here.open()
    await page.getByText('Live', { exact: true }).waitFor()
    await run('engine', 'credits', 'set', '4321')
    await page.locator('.figure', { hasText: '4,321' }).waitFor()
    await run('accounts', 'enrich', '--domain', 'acme-robotics.example')
    await page.getByRole('region', { name: 'Credits by operation' }).waitFor()
    // The balance is in another database than what was spent: a page read between the two commits has an earlier one, until it is read again.
    await expect.poll(() => page.locator('.figure').textContent()).toBe('4,320')
    expect(existsSync(join(here.home, 'engine.db'))).toBe(database === 'SQLite')
  })

  it.runIf(isLong || database === 'PostgreSQL')('shows every view', async () => {
    const page = await here.open()
    for (const link of await page.locator('nav a').all()) {
      await link.click()
      await page.locator('h1', { hasText: (await link.textContent()) ?? '' }).waitFor()
    }
    await page.getByRole('link', { name: 'Ledger', exact: true }).click()
    for (const by of ['day', 'run']) {
      await page.getByRole('link', { name: `By ${by}` }).click()
      await page.getByText(`Credits consumed by ${by}`).waitFor()
    }
  })

  it('lists runs of other machines only where they are shared, and says so', async () => {
    const page = await here.open('runs')
    const text = await page.locator('main').textContent()
    expect(text).toContain('Runs of other machines are visible only when they are shared')
    const link = page.getByRole('link', { name: 'Runs that machines share' })
    if (database === 'SQLite') expect(await link.count()).toBe(0)
    else {
      await link.click()
      await page.getByText('These runs are in the shared database').waitFor()
    }
  })
})
