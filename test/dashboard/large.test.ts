import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { expectAccessible, hasNoBrowser } from '../support/browser.js'
import { perFile } from '../support/each.js'
import { isLong } from '../support/effort.js'
import { serveDashboard } from './dashboard.js'

type Sizes = Readonly<Record<'companies' | 'runs' | 'deliveries', number>>

const { fillDashboard } = (await import(
  join(import.meta.dirname, '../../scripts/bench/dashboard-data.js')
)) as {
  fillDashboard(folder: string, env: Record<string, string>, sizes: Sizes): Promise<void>
}

/** More than a page of each. How long a view takes over far more is measured by `npm run bench`. */
const sizes = isLong
  ? { companies: 3_000, runs: 400, deliveries: 3_000 }
  : { companies: 300, runs: 120, deliveries: 300 }

describe.skipIf(hasNoBrowser)('the dashboard over much data', () => {
  const here = perFile(() =>
    serveDashboard(async ({ home, json }) => {
      await json('engine credits set 1000000')
      await fillDashboard(home, { PROSPECT_HOME: home }, sizes)
    }),
  )

  it('shows every view in pages', async () => {
    const page = await here.open()
    for (const link of await page.locator('nav a').all()) {
      await link.click()
      await page.locator('main:not([aria-busy]) h1', { hasText: (await link.textContent()) ?? '' }).waitFor()
      expect(await page.locator('main tr').count()).toBeLessThan(600)
    }
    if (isLong) await expectAccessible(page)
  })

  it('pages through the runs, the newest first', async () => {
    const ids = (await here.json<{ id: string }[]>('runs list')).map(({ id }) => id)
    const page = await here.open('runs')
    const older = page.getByRole('link', { name: 'Older runs' })
    const shown: string[] = []
    for (let first = ''; shown.length < 300; ) {
      await page.locator(`main:not([aria-busy]) tbody tr:not([data-key="${first}"])`).first().waitFor()
      await page.locator('main:not([aria-busy]) h1', { hasText: 'Runs' }).waitFor()
      const keys = await page.evaluate(
        "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.key)",
      )
      shown.push(...(keys as string[]))
      first = shown.at(-50) ?? ''
      if ((await older.count()) === 0) break
      await older.click()
    }
    expect(shown).toEqual(ids.slice(0, 300))
  })
})
