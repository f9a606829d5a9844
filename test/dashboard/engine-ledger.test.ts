import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { commandOf } from '../../src/api/operations/table.js'
import { hasNoBrowser } from '../support/browser.js'
import type { Machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { sample } from '../support/effort.js'
import { loadSample } from '../support/sample.js'
import { cellsOf, runOn, serveDashboard } from './dashboard.js'

const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>'

/** Spends credits in a run, in a single call and by another member, who has a hostile name. */
async function spend(here: Machine): Promise<void> {
  await loadSample(here.home)
  here.write('companies.csv', 'domain\nacme-robotics.example\nbirchwood.example\n')
  await runOn(here, 'accounts enrich --csv companies.csv --yes -o out.csv')
  await runOn(here, 'accounts stack --company-domain acme-robotics.example')
  await runOn(here, 'engine members add ann@example.com --weekly-limit 100')
  const database = new Database(join(here.home, 'engine.db'))
  database.prepare("UPDATE members SET name = ? WHERE email = 'ann@example.com'").run(hostile)
  database.close()
}

interface ListedKey {
  readonly hint: string
  readonly member: string
  readonly scopes: readonly string[]
  readonly created_at: string
  readonly revoked_at: string | null
}

const plain = (text: string | undefined): number => Number(text?.replaceAll(',', '').replace('−', '-'))

/** Presses a button and saves the file that it offers. */
async function download(page: Page, button: string): Promise<string> {
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: button }).click()
  return readFileSync((await (await saving).path()) ?? '', 'utf8')
}

describe.skipIf(hasNoBrowser)('the views of engine and ledger', () => {
  const full = perFile(() => serveDashboard(spend))
  const empty = perFile(serveDashboard)

  it('shows the plan, credits, members and keys that the commands print, as text', async () => {
    const page = await full.open('engine')
    const { plan, credits } = await full.json<{ plan: string; credits: { enrichment: number } }>(
      'engine status',
    )
    const facts = await page.locator('dl').first().innerText()
    expect(facts).toContain(plan)
    expect(facts.replaceAll(',', '')).toContain(String(credits.enrichment))
    const members = await full.json<{ email: string; spent_this_week: number }[]>('engine', 'members', 'list')
    const shown = await cellsOf(page, 'Members')
    expect(shown.map(([email, , spent]) => [email, plain(spent)])).toEqual(
      members.map(({ email, spent_this_week: spent }) => [email, spent]),
    )
    expect(shown.map(([, name]) => name)).toContain(hostile)
    const keys = await full.json<ListedKey[]>('engine', 'keys', 'list')
    // Valid ones first, and the newest first among them.
    const inOrder = keys.toSorted(
      (one, other) =>
        Number(one.revoked_at !== null) - Number(other.revoked_at !== null) ||
        Date.parse(other.created_at) - Date.parse(one.created_at),
    )
    expect((await cellsOf(page, 'Keys')).map(([hint]) => hint)).toEqual(inOrder.map(({ hint }) => `${hint}…`))
  })

  it('creates a key, shows it once, and revokes it', async () => {
    const page = await full.open('engine')
    await page.getByRole('combobox', { name: 'Member' }).selectOption('ann@example.com')
    await page.getByRole('listbox', { name: 'Areas' }).selectOption(['accounts', 'leads'])
    await page.getByRole('button', { name: 'Create a key' }).click()
    const key = (await page.locator('#messages pre').textContent()) ?? ''
    const credits = () => full.run(['credits', '--json'], { env: { PROSPECT_API_KEY: key } })
    const listed = async () =>
      (await full.json<ListedKey[]>('engine keys list')).find(({ hint }) => key.startsWith(hint))
    expect(await listed()).toMatchObject({
      member: 'ann@example.com',
      scopes: ['accounts', 'leads'],
      revoked_at: null,
    })
    const hint = (await listed())?.hint ?? ''
    await page.reload()
    await page.getByRole('region', { name: 'Keys' }).waitFor()
    expect(await page.content()).not.toContain(key)
    await page.getByRole('button', { name: `Revoke ${hint}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.locator('#messages p', { hasText: 'is revoked' }).waitFor()
    expect((await listed())?.revoked_at).not.toBe(null)
    expect((await credits()).code).not.toBe(0)
  })

  it('makes a new key for itself after its own one was revoked', async () => {
    const page = await full.open('engine')
    const own = (await full.json<ListedKey[]>('engine keys list')).find(
      (key) => key.member === 'me@localhost' && key.revoked_at === null,
    )
    await page.getByRole('button', { name: `Revoke ${own?.hint}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.locator('#messages p', { hasText: 'is revoked' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.locator('.figure').waitFor()
    expect((await full.run(['credits'])).code).toBe(0)
  })

  it('moves the clock, sets it and goes back to real time', async () => {
    const page = await empty.open('engine')
    const clock = () =>
      empty.json<{ now: string; frozen: boolean; offset_seconds: number }>('engine', 'clock', 'show')
    await page.getByLabel('Move forward by').fill('2')
    await page.getByRole('button', { name: 'Move' }).click()
    await page.locator('#messages p').waitFor()
    expect((await clock()).offset_seconds).toBe(2 * 86_400)
    await page.getByLabel('Time (UTC)').fill('2031-05-06T07:08:09')
    await page.getByLabel('Stand still').check()
    await page.getByRole('button', { name: 'Set', exact: true }).click()
    await page.locator('#messages p', { hasText: ', frozen' }).waitFor()
    expect(await clock()).toMatchObject({ now: '2031-05-06T07:08:09.000Z', frozen: true })
    await page.getByText('2031-05-06 07:08:09 UTC', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Back to real time' }).click()
    await page.locator('#messages p:not(:has-text(", frozen"))').waitFor()
    expect(await clock()).toMatchObject({ frozen: false, offset_seconds: 0 })
  })

  it('shows the movements that the command prints, newest first', async () => {
    const page = await full.open('ledger')
    const movements = await full.json<Record<string, string | number | null>[]>('engine', 'ledger')
    const shown = await cellsOf(page, 'Movements')
    expect(
      shown.map(([seq, , kind, , change, credits, , operation, member]) => [
        plain(seq),
        kind,
        plain(change),
        plain(credits),
        operation,
        member,
      ]),
    ).toEqual(
      movements
        .map((one) => [
          one.seq,
          String(one.kind).replace('_', ' '),
          one.change,
          one.credits,
          commandOf(String(one.operation ?? '–')),
          one.member ?? '–',
        ])
        .reverse(),
    )
  })

  it('pages through movements', async () => {
    const page = await full.open('ledger?before=3')
    expect((await cellsOf(page, 'Movements')).map(([seq]) => seq)).toEqual(['2', '1'])
    await page.getByRole('link', { name: 'Newest' }).click()
    await expect.poll(async () => (await cellsOf(page, 'Movements')).length).toBeGreaterThan(2)
  })

  for (const by of sample(['day', 'operation', 'member', 'run'] as const, 2, 1))
    it(`sums by ${by} and exports as the command does`, async () => {
      const page = await full.open(`ledger?by=${by}`)
      const argv = by === 'run' ? ['ledger', '--by', by] : ['engine', 'ledger', '--by', by]
      const sums = await full.json<Record<string, string | number | null>[]>(...argv)
      const shown = await cellsOf(page, `Credits by ${by}`)
      const expected = sums.map((sum) => [
        commandOf(String(sum[by] ?? 'single calls')),
        sum.credits,
        sum.movements ?? sum.calls,
      ])
      expect(shown.map(([name, credits, count]) => [name, plain(credits), plain(count)])).toEqual(
        by === 'run' || by === 'day' ? expected.reverse() : expected,
      )
      expect(await download(page, `Export sums by ${by}`)).toBe(
        (await full.run([...argv, '--format', 'csv'])).stdout,
      )
      await page.getByRole('combobox', { name: 'Format' }).selectOption('ndjson')
      expect(await download(page, `Export sums by ${by}`)).toBe(
        (await full.run([...argv, '--format', 'ndjson'])).stdout,
      )
    })

  it('sums by several things at once, with totals, as the command does', async () => {
    const page = await full.open('ledger?by=day')
    await page.getByRole('checkbox', { name: 'Sum by member' }).check()
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { name: 'Credits consumed by day, member' }).waitFor()
    const sums = await full.json<Record<string, string | number>[]>('engine', 'ledger', '--by', 'day,member')
    const shown = await cellsOf(page, 'Credits by day, member')
    expect(shown.map((cells) => cells.map((cell, at) => (at < 2 ? cell : plain(cell))))).toEqual(
      sums.map(({ day, member, credits, movements }) => [day, member, credits, movements]).reverse(),
    )
  })

  it('sums what one member spent on one command', async () => {
    const page = await full.open('ledger?by=day')
    await page.getByRole('combobox', { name: 'Only this member' }).selectOption('me@localhost')
    await page.getByRole('combobox', { name: 'Only this command' }).selectOption('accounts.stack')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.waitForURL(/operation=accounts.stack/)
    const sums = await full.json<{ operation: string; credits: number }[]>('engine ledger --by operation')
    const { credits } = sums.find(({ operation }) => operation === 'accounts.stack') ?? {}
    const shown = await cellsOf(page, 'Credits by day')
    expect(shown.map(([, sum]) => plain(sum))).toEqual([credits])
    expect(await download(page, 'Export sums by day')).toContain(`,${credits},1\n`)
  })

  it('exports movements as the command does', async () => {
    const page = await full.open('ledger')
    expect(await download(page, 'Export movements')).toBe(
      (await full.run(['engine', 'ledger', '--format', 'csv'])).stdout,
    )
    await page.getByLabel('To (UTC, included)').fill('2001-01-01')
    await page.getByRole('combobox', { name: 'Format' }).selectOption('ndjson')
    expect(await download(page, 'Export movements')).toBe('')
  })

  it('sums the runs of real days while engine time is far ahead', async () => {
    await full.run(['engine', 'clock', 'advance', '90d'])
    const page = await full.open('ledger?by=run')
    expect(await cellsOf(page, 'Credits by run')).toHaveLength(2)
    await full.run(['engine', 'clock', 'reset'])
  })

  it('shows only the chosen days', async () => {
    const page = await full.open('ledger?by=operation&from=2001-01-01&to=2001-01-31')
    await page.getByText('Nothing was spent on these days.').waitFor()
    expect(await page.getByRole('textbox', { name: 'From (UTC)' }).first().inputValue()).toBe('2001-01-01')
  })
})
