import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openPage } from '../support/browser.js'
import { type Machine, machine } from '../support/command.js'
import { launchServer, prospect } from '../support/processes.js'

/** Fills a machine with sample companies, a finished run, a run that its budget stopped, and a received event. */
export async function fillWithSamples(here: Machine, env: Environment = {}): Promise<void> {
  const run = async (...argv: string[]) => {
    const result = await here.run(argv, { env })
    if (![0, 11, 12].includes(result.code)) throw new Error(`${argv.join(' ')}: ${result.stderr}`)
  }
  const domains = ['acme-robotics', 'birchwood', 'cedarpoint', 'kastanje', 'harbourlane', 'deltavega']
  const rows = domains.map((name) => `${name}.example,\n`).join('')
  writeFileSync(
    join(here.home, 'companies.csv'),
    `domain,note\n${rows}nobody.example,\nacme-robotics.example,\n,unknown\n`,
  )
  writeFileSync(join(here.home, 'leads.csv'), `domain,note\n${rows}`)
  await run('data', 'sample', '--yes', '--companies', '60', '--people', '80')
  await run('accounts', 'enrich', '--csv', 'companies.csv', '--yes', '-o', 'out.csv')
  await run(
    'accounts',
    'enrich',
    '--csv',
    'leads.csv',
    '--yes',
    '-o',
    'leads-out.csv',
    '--max-credits',
    '2',
    '--fresh',
  )
  const listening = await here.start(['listen', '--port', '0', '--json'], { env })
  const { url } = JSON.parse(listening.line) as { url: string }
  for (const event of ['lead_search.completed', 'lead_search.record'])
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': `msg_${event}` },
      body: JSON.stringify({ event, id: 'search-1', leads: [{ name: 'Ada' }] }),
    })
  await listening.stop()
}

/** Environment variables of the server and of the commands. */
type Environment = Readonly<Record<string, string>>

/** A machine with a real `serve --dashboard`, whose commands can be run beside it. */
export interface ServedDashboard extends Machine {
  readonly origin: string
  /** Returns a link that was not used yet. */
  nextLink(): Promise<string>
  /** Opens a view in a new profile of the browser. */
  open(
    browser: Browser,
    path?: string,
    options?: BrowserContextOptions,
  ): Promise<Awaited<ReturnType<typeof openPage>>>
  close(): Promise<void>
}

/** Starts `serve --dashboard` of the built program, after `prepare` has filled the machine. */
export async function serveDashboard(
  prepare: (here: Machine) => Promise<void> = async () => {},
  { options = [], env = {} }: { readonly options?: readonly string[]; readonly env?: Environment } = {},
): Promise<ServedDashboard> {
  const here = machine()
  await here.run(['init'], { env })
  await prepare(here)
  const argv = ['serve', '--port', '0', '--json', '--dashboard', ...options]
  const { line, server, stop } = await launchServer(prospect, argv, here.home, {
    PROSPECT_HOME: here.home,
    ...env,
  })
  const links = [(JSON.parse(line) as { dashboard_url: string }).dashboard_url]
  const waiting: ((link: string) => void)[] = []
  server.stderr.on('data', (text: Buffer) => {
    for (const [link] of text.toString().matchAll(/http:\S+#\S+/g)) {
      const next = waiting.shift()
      if (next) next(link)
      else links.push(link)
    }
  })
  const nextLink = async () => links.shift() ?? new Promise<string>((resolve) => waiting.push(resolve))
  return {
    ...here,
    origin: new URL(links[0] ?? '').origin,
    nextLink,
    open: async (browser, path = '', pageOptions = {}) => {
      const link = new URL(await nextLink())
      const [pathname = '', search = ''] = path.split('?')
      link.pathname += pathname === '' ? '' : `/${pathname}`
      link.search = search
      return openPage(browser, link.href, pageOptions)
    },
    close: async () => {
      await stop()
      here.remove()
    },
  }
}

/** Returns the cells of a table, row by row. */
export async function cellsOf(page: Page, name: string): Promise<string[][]> {
  const rows = await page.getByRole('region', { name, exact: true }).locator('tbody tr').all()
  return Promise.all(
    rows.map(async (row) => (await row.locator('td').allInnerTexts()).map((text) => text.trim())),
  )
}
