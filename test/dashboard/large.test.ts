import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, hasNoBrowser, openPage } from '../support/browser.js'
import { isLong } from '../support/effort.js'
import { launch, launchServer, prospect } from '../support/processes.js'

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
  const home = mkdtempSync(join(tmpdir(), 'prospect-large-'))
  const env = { PROSPECT_HOME: join(home, 'home') }
  /** The link that follows the first one. */
  let link: Promise<string>
  let server: Awaited<ReturnType<typeof launchServer>>

  beforeAll(async () => {
    await launch(prospect, ['init'], home, env)
    await launch(prospect, ['engine', 'credits', 'set', '1000000'], home, env)
    await fillDashboard(home, env, sizes)
    server = await launchServer(prospect, ['dashboard', '--port', '0', '--json', '--no-open'], home, env)
  })
  afterAll(async () => {
    await Promise.all([server?.stop()])
    rmSync(home, { recursive: true, force: true })
  })

  it('shows every view in pages', async () => {
    const { url } = JSON.parse(server.line) as { url: string }
    link = new Promise((resolve) => {
      server.server.stderr.on('data', (text: Buffer) => {
        const [next] = text.toString().match(/http:\S+/) ?? []
        if (next) resolve(next)
      })
    })
    const { page, problems, close } = await openPage(url)
    for (const link of await page.locator('nav a').all()) {
      await link.click()
      await page.locator('main:not([aria-busy]) h1', { hasText: (await link.textContent()) ?? '' }).waitFor()
      expect(await page.locator('main tr').count()).toBeLessThan(600)
    }
    if (isLong) await expectAccessible(page)
    expect(problems).toEqual([])
    await close()
  })

  it('pages through the runs, the newest first', async () => {
    const { stdout } = await launch(prospect, ['runs', 'list', '--json'], home, env)
    const ids = (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)
    const { page, close } = await openPage(await link)
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
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
    await close()
  })
})
