import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { closeAfterTest } from '../client/listeners.js'
import { hasNoBrowser } from '../support/browser.js'
import type { Machine } from '../support/command.js'
import { loadSample } from '../support/sample.js'
import { serveDashboard } from './dashboard.js'

/** Where `npm run screenshots` wants the pictures of the documents. */
const folder = process.env.PROSPECT_PICTURES

/** A month of work: lookups on most days, two runs, an import that cannot be delivered. */
async function month(here: Machine): Promise<void> {
  await loadSample(here.home)
  const names = (await here.run(['data', 'export', 'companies', '--fields', 'domain', '--format', 'csv']))
    .stdout
  const domains = names.split('\n').filter((name) => /^[a-z-]+\.example$/.test(name))
  for (let day = 28; day >= 1; day--) {
    await here.run(['engine', 'clock', 'advance', '1d'])
    const lookups = day % 7 < 2 ? 1 : 6 + ((day * 7) % 11)
    const rows = Array.from({ length: lookups }, (_, at) => domains[(day * 13 + at) % domains.length])
    writeFileSync(join(here.home, `day-${day}.csv`), `domain\n${rows.join('\n')}\n`)
    await here.run(['accounts', 'enrich', '--csv', `day-${day}.csv`, '--yes', '-o', `day-${day}-out.csv`])
    if (day % 3 === 0) await here.run(`accounts hiring --company-domain ${rows[0]} --limit ${1 + (day % 4)}`)
  }
  const rows = domains.slice(0, 90).map((name) => `${name},\n`)
  writeFileSync(join(here.home, 'fair-2026.csv'), `domain,met\n${rows.join('')}unknown.example,\n,Lyon\n`)
  const run = ['accounts', 'enrich', '--csv', 'fair-2026.csv', '--yes', '-o', 'fair-2026-out.csv', '--fresh']
  await here.run([...run, '--max-credits', '60'])
}

describe.skipIf(hasNoBrowser || !folder)('the pictures of the documents', () => {
  it('are made over sample data', async () => {
    const here = closeAfterTest(await serveDashboard(month))
    const look = { deviceScaleFactor: 1.5, viewport: { width: 1180, height: 640 } }
    const overview = await here.open('', { ...look, colorScheme: 'light' })
    await overview.screenshot({ path: join(folder ?? '', 'dashboard-overview.png') })
    const [run] = await here.json<{ id: string }[]>('runs', 'list')
    const one = await here.open(`runs?id=${run?.id}`, { ...look, colorScheme: 'dark' })
    // A temporary folder is nothing that a reader has.
    await one.evaluate(
      `for (const one of document.querySelectorAll('dd')) if (one.textContent.includes('${here.home}')) one.textContent = one.textContent.replace('${here.home}', '/home/ada/leads')`,
    )
    await one.screenshot({ path: join(folder ?? '', 'dashboard-run.png') })
  })
})
