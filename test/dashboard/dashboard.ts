import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { openPage, ready } from '../support/browser.js'
import { type Given, type Machine, machine } from '../support/command.js'
import { prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'

/** Runs a command on a machine. Throws when it fails; rows that failed and a budget that was reached are no failure. */
export async function runOn(here: Machine, line: string, given?: Given): Promise<void> {
  const { code, stderr } = await here.run(line, given)
  if (![0, 11, 12].includes(code)) throw new Error(`${line}: ${stderr}`)
}

/** Fills a machine with sample companies, a finished run, a run that its budget stopped, and a received event. */
export async function fillWithSamples(here: Machine, env: Environment = {}): Promise<void> {
  const run = (line: string) => runOn(here, line, { env })
  const domains = ['acme-robotics', 'birchwood', 'cedarpoint', 'kastanje', 'harbourlane', 'deltavega']
  const rows = domains.map((name) => `${name}.example,\n`).join('')
  here.write('companies.csv', `domain,note\n${rows}nobody.example,\nacme-robotics.example,\n,unknown\n`)
  here.write('leads.csv', `domain,note\n${rows}`)
  await (env.PROSPECT_DATABASE_URL === undefined ? loadSample(here.home) : run('data sample'))
  await run('accounts enrich --csv companies.csv --yes -o out.csv')
  await run('accounts enrich --csv leads.csv --yes -o leads-out.csv --max-credits 2 --refresh')
  for (const event of ['lead_search.completed', 'lead_search.record'])
    await receive(here, `msg_${event}`, event, { id: 'search-1', name: 'Ada' }, env)
}

/** Delivers an event about a lead to `listen` on a machine. */
export async function receive(
  here: Machine,
  id: string,
  event: string,
  { name, signature, ...about }: { readonly id: string; readonly name: string; readonly signature?: string },
  env: Environment = {},
): Promise<void> {
  const listening = await here.start('listen --port 0 --json', { env })
  const { url } = JSON.parse(listening.line) as { url: string }
  await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      ...(signature ? { 'webhook-signature': signature } : {}),
    },
    body: JSON.stringify({ event, ...about, leads: [{ name }] }),
  })
  await listening.stop()
}

/** Environment variables of the server and of the commands. */
type Environment = Readonly<Record<string, string>>

/** A machine with `serve --dashboard`, whose commands can be run beside it. */
export type ServedDashboard = Awaited<ReturnType<typeof serveDashboard>>

/** Starts `serve --dashboard`, after `prepare` has filled the machine. */
export async function serveDashboard(
  prepare: (here: Machine) => unknown = () => {},
  { options = [], env = {} }: { readonly options?: readonly string[]; readonly env?: Environment } = {},
) {
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
  /** Returns a link that was not used yet. */
  const nextLink = async () => links.shift() ?? new Promise<string>((resolve) => waiting.push(resolve))
  const go = async (page: Page, path: string) => {
    await page.goto(`${origin}/dashboard/${path}`.replace(/\/(?=\?|$)/, ''))
    await ready(page)
  }
  const idle: Awaited<ReturnType<typeof openPage>>[] = []
  /** Opens a view for a test: in a page that an earlier one has left, or with options in a new profile. Keeps what goes wrong in it. */
  const watch = async (path = '', options?: BrowserContextOptions) => {
    const opened = (!options && idle.pop()) || (await openPage(await nextLink(), options))
    const { page, problems, close } = opened
    onTestFinished(async () => {
      if (options) return close()
      const others = page.context().pages()
      await Promise.all(others.filter((other) => other !== page).map((other) => other.close()))
      problems.length = 0
      idle.push(opened)
    })
    await go(page, path)
    return { page, problems }
  }
  return {
    ...here,
    origin,
    nextLink,
    go,
    watch,
    /** Opens a view, in which nothing may have gone wrong when the test has finished. */
    open: async (path?: string, options?: BrowserContextOptions): Promise<Page> => {
      const { page, problems } = await watch(path, options)
      onTestFinished(() => expect(problems).toEqual([]))
      return page
    },
    close: async () => {
      await Promise.all(idle.map((page) => page.close()))
      await stop()
      here.remove()
    },
  }
}

/** Sends a request as the script of a page does, and returns its status and its text. */
export const post = (page: Page, path: string, body = '{}'): Promise<{ status: number; text: string }> =>
  page.evaluate(
    `fetch('/dashboard/${path}', { method: 'POST', body: ${JSON.stringify(body)},
      headers: { 'content-type': 'application/json', 'x-dashboard-token': localStorage.getItem('prospect-token') } })
      .then(async (answer) => ({ status: answer.status, text: await answer.text() }))`,
  )

/** Returns the cells of a table, row by row. */
export async function cellsOf(page: Page, name: string): Promise<string[][]> {
  const rows = await page.getByRole('region', { name, exact: true }).locator('tbody tr').all()
  return Promise.all(
    rows.map(async (row) => (await row.locator('td').allInnerTexts()).map((text) => text.trim())),
  )
}
