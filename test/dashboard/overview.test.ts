import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandOf } from '../../src/api/operations/table.js'
import {
  expectAccessible,
  hasNoBrowser,
  launchBrowser,
  ready,
  tabTo,
  takeScreenshot,
} from '../support/browser.js'
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

  it('reaches everything of every view with the keyboard', async () => {
    const { page, close } = await full.open(browser)
    const paths = await page.evaluate("[...document.querySelectorAll('nav a')].map(({ href }) => href)")
    const missing: unknown[] = []
    for (const path of [
      ...(paths as string[]),
      `${full.origin}/dashboard/try?operation=accounts.enrich&show=1`,
    ]) {
      await page.goto(path)
      await ready(page)
      await page.evaluate(`window.seen = new Set()
        addEventListener('focusin', ({ target }) => seen.add(target))
        window.unseen = () => [...document.querySelectorAll('a, button, input, select, textarea, summary, [tabindex="0"]')]
          .filter((one) => one.checkVisibility() && one.type !== 'hidden' && !seen.has(one)).map((one) => one.outerHTML)`)
      let left: unknown[] = ['all']
      // A date has a stop for each of its parts.
      for (let presses = 0; presses < 300 && left.length > 0; presses++) {
        await page.keyboard.press('Tab')
        if (presses % 10 === 9) left = (await page.evaluate('unseen()')) as unknown[]
      }
      missing.push(...left)
    }
    expect(missing).toEqual([])
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
