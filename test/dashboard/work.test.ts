import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { commandOf } from '../../src/api/operations/table.js'
import {
  expectAccessible,
  expectAccessibleInEveryLook,
  hasNoBrowser,
  ready,
  tabTo,
  takeScreenshot,
} from '../support/browser.js'
import { perFile } from '../support/each.js'
import { isLong, sample } from '../support/effort.js'
import { launch, prospect } from '../support/processes.js'
import { until } from '../support/until.js'
import { receiveWebhooks } from '../support/webhook-receiver.js'
import { fillWithSamples, serveDashboard } from './dashboard.js'

interface RunView {
  readonly id: string
  readonly file: string
  readonly status: string
  readonly done: number
  readonly credits: number
}

/** Presses a button and returns what the page says about it. */
async function press(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name }).click()
  return (await page.locator('#messages p').textContent()) ?? ''
}

// One test after the other: each continues what those before it did.
describe.skipIf(hasNoBrowser)('overview, runs, jobs and the inbox', { shuffle: false }, () => {
  const receiver = perFile(() => receiveWebhooks(() => undefined))
  const full = perFile(() => serveDashboard(fillWithSamples))
  const empty = perFile(serveDashboard)
  const runOver = async (file: string) => {
    const found = (await full.json<RunView[]>('runs', 'list')).find((run) => run.file.endsWith(file))
    if (!found) throw new Error(`no run over ${file}`)
    return found
  }

  const finished = (id: string) =>
    until(async () => (await full.json<{ state: string }>(`engine jobs show ${id}`)).state === 'finished')

  describe('the overview', () => {
    it('shows the balance, quotas and sums that the commands print', async () => {
      const page = await full.open()
      const limits = await full.json<{ credits: { enrichment: number } }>('limits')
      expect(await page.locator('.figure').textContent()).toBe(String(limits.credits.enrichment))
      const [spent] = await full.json<{ operation: string; credits: number }[]>(
        'engine ledger --by operation',
      )
      const table = page.getByRole('region', { name: 'Credits by operation' })
      expect(await table.locator('tbody tr').allInnerTexts()).toEqual([
        `${commandOf(spent?.operation ?? '')}\t${spent?.credits}`,
      ])
      const chart = page.getByRole('img', { name: 'Credits by day' })
      expect(await chart.getAttribute('aria-label')).toMatch(/: \d+ credits in 30 days, at most \d+ a day$/)
    })

    it('says what to do while there is nothing to show', async () => {
      const page = await empty.open()
      expect(await page.locator('.empty').count()).toBeGreaterThanOrEqual(4)
      expect(await page.locator('main').textContent()).toContain('Nothing was spent in the last 30 days')
      await expectAccessible(page)
    })

    it('names the faults that are set', async () => {
      await empty.json('engine', 'faults', 'add', 'deliveries', '--lose')
      const page = await empty.open()
      expect(await page.locator('.notes').textContent()).toContain(
        'calls or deliveries fail: f1 (deliveries).',
      )
      await empty.json('engine', 'faults', 'clear')
    })

    it('reaches everything of every view with the keyboard', async () => {
      const page = await full.open()
      const paths = await page.evaluate("[...document.querySelectorAll('nav a')].map(({ href }) => href)")
      const missing: unknown[] = []
      const form = `${full.origin}/dashboard/try?operation=accounts.enrich&show=1`
      for (const path of sample([...(paths as string[]), form], 5)) {
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
    })

    it('switches between themes with the keyboard, and remembers the choice', async () => {
      const page = await full.open('', { colorScheme: 'light' })
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
    })
  })

  const paths = [
    ...['', 'runs', 'jobs', 'inbox', 'engine', 'ledger', 'ledger?by=day', 'ledger?by=run'],
    'catalogue?of=people&seniority_levels=220',
    'try?operation=leads.advanced_search_preview&show=1&keyword=robots',
  ]
  for (const path of paths)
    it(`shows ${path || 'the overview'} with data and empty, in both colours and on a narrow screen`, async () => {
      const name = /^\w*/.exec(path)?.[0] || 'overview'
      const blank = await empty.open(path)
      if (['runs', 'jobs', 'inbox'].includes(path))
        expect(await blank.locator('.empty').count()).toBeGreaterThan(0)
      if (isLong || path === 'runs' || path === 'engine') await expectAccessible(blank)
      await takeScreenshot(blank, `${name}-empty`)
      await expectAccessibleInEveryLook(await full.open(path), name)
    })

  it('shows a flow with what each of its steps took, found and left', async () => {
    const flow =
      'name: small\ninput: { csv: companies.csv }\nsteps: [accounts.enrich, { keep: headcount > 0 }]\noutput: { csv: flow.csv }'
    writeFileSync(join(full.home, 'flow.yaml'), flow)
    await full.run(['flow', 'run', 'flow.yaml'])
    const [run] = await full.json<
      { id: string; steps: Record<'step' | 'in' | 'found' | 'out' | 'credits', string>[] }[]
    >('flow', 'list')
    const page = await full.open(`runs?id=${run?.id}`)
    const shown = await page.getByRole('region', { name: 'Steps' }).locator('tbody tr').allInnerTexts()
    for (const [at, { step, in: came, found, out, credits }] of (run?.steps ?? []).entries())
      expect(shown[at]?.split('\t').filter((text) => text.trim() !== '')).toEqual(
        [step, came, found, out, credits].map(String),
      )
    expect(shown).toHaveLength(2)
  })

  it('names a flow that stopped once, and not the runs of its steps', async () => {
    const steps = '[accounts.enrich, { http: { post: "http://192.168.1.1/", result: { score: score } } }]'
    const file = `name: blocked\ninput: { csv: companies.csv }\nsteps: ${steps}\noutput: { csv: blocked.csv }\n`
    writeFileSync(join(full.home, 'blocked.yaml'), file)
    await full.run(['flow', 'run', 'blocked.yaml'])
    const page = await full.open('')
    const notes = await page.locator('.notes li').allInnerTexts()
    expect(notes.filter((note) => note.includes('blocked.yaml'))).toEqual(['The flow blocked.yaml stopped.'])
  })

  it('lists the runs that the command prints, and shows one with its funnel', async () => {
    const page = await full.open('runs')
    const runs = await full.json<RunView[]>('runs', 'list')
    const shown = await page.getByRole('region', { name: 'Runs' }).locator('tbody tr').allInnerTexts()
    expect(shown).toHaveLength(runs.length)
    for (const [at, { status, done, credits }] of runs.entries())
      for (const value of [status, done, credits]) expect(shown[at]).toContain(String(value))
    await page.getByRole('link', { name: 'companies.csv' }).click()
    const funnel = page.getByRole('region', { name: 'Lookups' })
    await funnel.waitFor()
    const rows = (await funnel.locator('tbody tr').allInnerTexts()).map((text) =>
      text.replace(/\s+/g, ' ').trim(),
    )
    expect(rows).toEqual(
      expect.arrayContaining([
        'Rows of the file 9',
        'Looked up 7',
        'Found 6',
        'Not found 1',
        'Invalid 1 Check the file for the reasons.',
        'Without a lookup 1 Duplicates and skipped rows.',
      ]),
    )
    expect(await press(page, 'Check the file')).toContain('1 row invalid: "domain" is empty (1).')
    await expectAccessible(page)
    await takeScreenshot(page, 'run')
  })

  it('exports what the command exports', async () => {
    const page = await full.open('runs')
    const { id } = await runOver('companies.csv')
    await page.getByRole('link', { name: 'companies.csv' }).click()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const saved = readFileSync((await (await saving).path()) ?? '', 'utf8')
    expect(saved).toBe((await full.run(['runs', 'export', id, '--format', 'csv'])).stdout)
  })

  it('resumes a stopped run after showing its price, with the keyboard', async () => {
    const { id } = await runOver('leads.csv')
    const page = await full.open(`runs?id=${id}`)
    await tabTo(page, 'Resume…')
    await page.keyboard.press('Enter')
    const question = page.getByRole('dialog')
    await question.waitFor()
    expect(await question.textContent()).toContain('The rest costs at most 4 credits')
    await takeScreenshot(page, 'resume')
    await tabTo(page, 'Resume')
    await page.keyboard.press('Enter')
    await page.locator('.state', { hasText: 'finished' }).waitFor()
    expect(await runOver('leads.csv')).toMatchObject({ status: 'finished', done: 6, credits: 6 })
  })

  it('shows a run of another process while it goes on, and stops it', async () => {
    const rows = Array.from({ length: 500 }, (_, at) => `company-${at}.example\n`)
    writeFileSync(join(full.home, 'many.csv'), `domain\n${rows.join('')}`)
    const argv = ['accounts', 'hiring', '--csv', 'many.csv', '--yes', '-o', 'many-out.csv']
    const running = launch(prospect, argv, full.home, { PROSPECT_HOME: full.home })
    const page = await full.open('runs')
    await page.getByRole('link', { name: 'many.csv' }).click()
    await page.locator('.state', { hasText: 'running' }).waitFor()
    expect(await press(page, 'Stop')).toContain('stops once the rows it is looking up are answered')
    expect((await running).exitCode).toBe(143)
    await page.locator('.state', { hasText: 'stopped' }).waitFor()
    const stopped = await runOver('many.csv')
    expect(stopped.status).toBe('stopped')
    expect(stopped.done).toBeLessThan(500)
  })

  it('shows jobs and deliveries with their body, and retries a delivery', async () => {
    const { id } = await full.json<{ id: string }>(
      `accounts search --keyword a --limit 2 --no-wait --webhook-url ${receiver.url}`,
    )
    const page = await full.open(`jobs?id=${id}`)
    await page.locator('.state', { hasText: 'delivered' }).first().waitFor()
    const [delivery] = await full.json<{ id: string }[]>('engine', 'deliveries', 'list', '--job', id)
    await page.getByRole('link', { name: delivery?.id ?? '' }).click()
    await page.getByRole('heading', { name: `Delivery ${delivery?.id}` }).waitFor()
    const { body } = await full.json<{ body: unknown }>('engine', 'deliveries', 'show', delivery?.id ?? '')
    expect(JSON.parse((await page.locator('pre').textContent()) ?? '')).toEqual(body)
    expect(await page.locator('dl').nth(1).textContent()).toContain('webhook-signature')
    await expectAccessible(page)
    await takeScreenshot(page, 'delivery')
    const before = receiver.arrivals.length
    expect(await press(page, 'Retry')).toContain('is due again')
    await until(() => receiver.arrivals.length > before)
    await page.locator('.state', { hasText: 'delivered' }).waitFor()
    expect(receiver.arrivals.at(-1)?.id).toBe(delivery?.id)
  })

  it('retries a failed job, as a new one', async () => {
    const { id } = await full.json<{ id: string }>(
      `accounts search --keyword b --no-wait --webhook-url ${receiver.url}`,
    )
    await finished(id)
    const database = new Database(join(full.home, 'engine.db'))
    // No job fails by itself while its database is in order.
    database.exec(
      `DROP TRIGGER IF EXISTS jobs_forward; UPDATE jobs SET state = 'failed', error = 'No luck' WHERE id = '${id}'`,
    )
    database.close()
    const page = await full.open()
    await page.getByRole('link', { name: 'A job of accounts search failed' }).click()
    const message = await press(page, 'Retry')
    const [, retried = ''] = /as the job (\S+)\.$/.exec(message) ?? []
    await finished(retried)
  })

  it('shows received events with their body, replays one and forwards all', async () => {
    const page = await full.open('inbox')
    const events = await full.json<{ id: string; event: string }[]>('events', 'list')
    const rows = page.getByRole('region', { name: 'Received events' }).locator('tbody tr')
    expect(await rows.locator('td:first-child').allInnerTexts()).toEqual(events.map(({ event }) => event))
    await page.getByRole('link', { name: 'lead_search.completed' }).click()
    await page.getByRole('heading', { name: 'Event msg_lead_search.completed' }).waitFor()
    const [shown] = await page.locator('pre').allTextContents()
    const { body } = await full.json<{ body: unknown }>('events', 'show', 'msg_lead_search.completed')
    expect(JSON.parse(shown ?? '')).toEqual(body)
    await page.getByLabel('Address').fill(receiver.url)
    const before = receiver.arrivals.length
    expect(await press(page, 'Replay')).toContain(`${receiver.url} answered 204.`)
    expect(receiver.arrivals.slice(before).map(({ id }) => id)).toEqual(['msg_lead_search.completed'])
    await page.getByRole('region', { name: 'Forwarded' }).waitFor()
    await page.getByRole('link', { name: 'All events' }).click()
    await page.getByRole('button', { name: 'Forward these events' }).waitFor()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('button', { name: 'Forward these events' }).click()
    await page.getByText(`2 events sent to ${receiver.url}.`).waitFor()
    expect(await full.json('events', 'list')).toMatchObject([
      { forwarded: 'delivered' },
      { forwarded: 'delivered' },
    ])
    await expectAccessible(page)
  })

  it('shows, and forwards, only the events of the search that it is asked for', async () => {
    const page = await full.open('inbox?search=nothing')
    expect(await page.getByRole('region', { name: 'Received events' }).locator('tbody tr').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Forward these events' }).count()).toBe(0)
  })

  it('says in a sentence what is wrong with an action', async () => {
    const { page } = await full.watch('inbox')
    await page.getByLabel('Address').fill('http://127.0.0.1:9/none')
    await page.getByRole('button', { name: 'Forward these events' }).click()
    await page.locator('.message.bad', { hasText: 'http://127.0.0.1:9 does not accept events' }).waitFor()
    await full.go(page, 'runs?id=nothing')
    expect(await page.locator('main').textContent()).toContain('There is no run nothing.')
  })
})
