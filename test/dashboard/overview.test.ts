import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandOf } from '../../src/api/operations/table.js'
import { expectAccessible, hasNoBrowser, launchBrowser, tabTo, takeScreenshot } from '../support/browser.js'
import { fillWithSamples, type ServedDashboard, serveDashboard } from './dashboard.js'

describe.skipIf(hasNoBrowser)('the overview', () => {
  let browser: Browser
  let full: ServedDashboard
  let empty: ServedDashboard

  beforeAll(async () => {
    browser = await launchBrowser()
    full = await serveDashboard(fillWithSamples)
    empty = await serveDashboard()
  })
  afterAll(async () => {
    await Promise.all([full?.close(), empty?.close(), browser?.close()])
  })

  it('shows the balance, quotas and sums that the commands print', async () => {
    const { page, problems, close } = await full.open(browser)
    const limits = await full.json<{ credits: { enrichment: number } }>('limits')
    expect(await page.locator('.figure').textContent()).toBe(String(limits.credits.enrichment))
    const [spent] = await full.json<{ operation: string; credits: number }[]>(
      'engine',
      'ledger',
      '--by',
      'operation',
    )
    const table = page.getByRole('region', { name: 'Credits by operation' })
    expect(await table.locator('tbody tr').allInnerTexts()).toEqual([
      `${commandOf(spent?.operation ?? '')}\t${spent?.credits}`,
    ])
    const chart = page.getByRole('img', { name: 'Credits by day' })
    expect(await chart.getAttribute('aria-label')).toMatch(/: \d+ credits in 30 days, at most \d+ a day$/)
    expect(problems).toEqual([])
    await close()
  })

  it('says what to do while there is nothing to show', async () => {
    const { page, problems, close } = await empty.open(browser)
    expect(await page.locator('.empty').count()).toBeGreaterThanOrEqual(4)
    expect(await page.locator('main').textContent()).toContain('Nothing was spent in the last 30 days')
    await expectAccessible(page)
    expect(problems).toEqual([])
    await close()
  })

  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 360])
      it(`is accessible in ${colorScheme} colours on a screen of ${width} px`, async () => {
        const { page, problems, close } = await full.open(browser, '', {
          colorScheme,
          viewport: { width, height: 800 },
        })
        await expectAccessible(page)
        await takeScreenshot(page, `overview-${colorScheme}-${width}`)
        expect(problems).toEqual([])
        await close()
      })

  it('switches between themes with the keyboard, and remembers the choice', async () => {
    const { page, close } = await full.open(browser, '', { colorScheme: 'light' })
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await tabTo(page, 'Theme: auto')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    expect(await background()).not.toBe(light)
    await page.reload()
    await page.locator('h1').waitFor()
    expect(await page.locator('#theme').textContent()).toBe('Theme: dark')
    expect(await background()).not.toBe(light)
    await close()
  })
})
