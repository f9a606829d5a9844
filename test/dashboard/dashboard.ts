import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openPage, ready, type Watched } from '../support/browser.js'
import { type Machine, machine } from '../support/command.js'
import { prospect } from '../support/processes.js'

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
  await run(...'accounts enrich --csv leads.csv --yes -o leads-out.csv --max-credits 2 --refresh'.split(' '))
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

/** A machine with `serve --dashboard`, whose commands can be run beside it. */
export interface ServedDashboard extends Machine {
  readonly origin: string
  /** Returns a link that was not used yet. */
  nextLink(): Promise<string>
  /** Opens a view; with options in a new profile of the browser, else in the page that a test has closed. */
  open(
    browser: Browser,
    path?: string,
    options?: BrowserContextOptions,
  ): Promise<Awaited<ReturnType<typeof openPage>>>
  close(): Promise<void>
}

/** Starts `serve --dashboard`, after `prepare` has filled the machine. */
export async function serveDashboard(
  prepare: (here: Machine) => Promise<void> = async () => {},
  { options = [], env = {} }: { readonly options?: readonly string[]; readonly env?: Environment } = {},
): Promise<ServedDashboard> {
  const here = machine()
  await here.run(['init'], { env })
  await prepare(here)
  const argv = ['serve', '--port', '0', '--json', '--dashboard', ...options]
  const links: string[] = []
  const waiting: ((link: string) => void)[] = []
  let seen = 0
  const readLinks = (stderr: string) => {
    const printed = stderr.match(/http:\S+#\S+/g) ?? []
    for (const link of printed.slice(seen)) {
      const next = waiting.shift()
      if (next) next(link)
      else links.push(link)
    }
    seen = printed.length
  }
  // The dashboard starts the program that it is part of for what runs as a process.
  process.argv[1] = prospect
  const { line, stop } = await here.start(argv, { env, onErrorOutput: readLinks })
  links.unshift((JSON.parse(line) as { dashboard_url: string }).dashboard_url)
  const { origin } = new URL(links[0] ?? '')
  const nextLink = async () => links.shift() ?? new Promise<string>((resolve) => waiting.push(resolve))
  const idle: Watched[] = []
  const openNew = async (
    browser: Browser,
    path: string,
    search: string,
    pageOptions: BrowserContextOptions,
  ) => {
    const link = new URL(await nextLink())
    link.pathname += path
    link.search = search
    return openPage(browser, link.href, pageOptions)
  }
  return {
    ...here,
    origin,
    nextLink,
    open: async (browser, path = '', pageOptions = {}) => {
      const [pathname = '', search = ''] = path.split('?')
      const below = pathname === '' ? '' : `/${pathname}`
      const isOwn = Object.keys(pageOptions).length > 0
      const known = isOwn ? undefined : idle.pop()
      const opened = known ?? (await openNew(browser, below, search, pageOptions))
      if (isOwn) return opened
      if (known) {
        await known.page.goto(`${origin}/dashboard${below}${search && `?${search}`}`)
        await ready(known.page)
      }
      const close = async () => {
        const { page, problems } = opened
        await Promise.all(
          page
            .context()
            .pages()
            .filter((other) => other !== page)
            .map((other) => other.close()),
        )
        problems.length = 0
        idle.push(opened)
      }
      return { ...opened, close }
    },
    close: async () => {
      await Promise.all(idle.map((page) => page.close()))
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
