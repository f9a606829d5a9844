import { execFileSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { operations } from '../../src/api/operations/table.js'
import { expectAccessible, hasNoBrowser, takeScreenshot } from '../support/browser.js'
import { perFile } from '../support/each.js'
import { sample } from '../support/effort.js'
import { loadSample } from '../support/sample.js'
import { post, serveDashboard } from './dashboard.js'

/** Returns the words that a shell makes of a command. */
const wordsOf = (line: string, env: Readonly<Record<string, string>> = {}): string[] =>
  execFileSync('sh', ['-c', `set -- ${line}; printf '%s\\0' "$@"`], { encoding: 'utf8', env })
    .split('\0')
    .slice(0, -1)

const code = (page: Page, label: string) =>
  page.getByRole('region', { name: label }).locator('pre').innerText()
const reply = async (page: Page): Promise<unknown> =>
  JSON.parse((await page.locator('[data-kept]').textContent()) ?? '')

describe.skipIf(hasNoBrowser)('operations that are tried', () => {
  const full = perFile(() => serveDashboard(({ home }) => loadSample(home)))
  const readOnly = perFile(() => serveDashboard(undefined, { options: ['--read-only'] }))

  it('has a form with every field of every operation', async () => {
    const page = await full.open('try')
    await page.getByText('Choose an operation.').waitFor()
    for (const { id } of sample(operations(), 3)) {
      const { text: html } = await post(page, `data/try?operation=${id}&show=1`)
      const names = [...html.matchAll(/ id="field-(\w+)"/g)].map(([, name]) => name)
      expect([id, names.sort()]).toEqual([id, Object.keys((await shapeOf(id)).input.shape).sort()])
      expect(html).toContain('As a command')
    }
  })

  it('shows the request and its price before it pays once, however often it is confirmed', async () => {
    const page = await full.open('try?operation=accounts.enrich')
    await page.getByLabel('domain').fill('acme-robotics.example')
    await page.getByRole('button', { name: 'Show the request and its price' }).click()
    await page.getByText('POST /accounts/single_enrich').waitFor()
    expect(await page.locator('main').innerText()).toContain('at most 1 credit; nothing found costs nothing')
    await takeScreenshot(page, 'try-request')
    await expectAccessible(page)
    const before = await full.balance()
    await page.getByRole('button', { name: 'Send for at most 1 credit…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await full.balance()).toBe(before)
    await page.getByRole('button', { name: 'Send for at most 1 credit…' }).click()
    const paying = page.waitForRequest((request) => request.url().endsWith('/action/try/pay'))
    await page.getByRole('dialog').getByRole('button', { name: 'Send and pay at most 1 credit' }).dblclick()
    const paid = await paying
    await page.locator('#messages p', { hasText: '200: 1 credit charged.' }).waitFor()
    await takeScreenshot(page, 'try-reply')
    await post(page, 'action/try/pay', paid.postData() ?? '')
    expect(await full.balance()).toBe(before - 1)
    const spent = await full.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
    expect(spent).toContainEqual({ operation: 'accounts.enrich', calls: 1, credits: 1, suspect: 0 })
    await page.getByRole('button', { name: 'Close' }).click()
    const told = await reply(page)
    const [, ...argv] = wordsOf(await code(page, 'As a command'))
    expect(argv).toEqual(['accounts', 'enrich', '--domain', 'acme-robotics.example'])
    expect(await full.json(...argv)).toEqual(told)
  })

  it('shows a curl command that sends the same request, without a secret', async () => {
    const page = await full.open(
      `try?operation=accounts.search_preview&show=1&keyword=${encodeURIComponent("it's $HOME")}&company_size=11-50%0A51-200&live=false`,
    )
    const key = await full.newKey()
    const line = await code(page, 'With curl')
    expect(line).toContain('$PROSPECT_API_KEY')
    expect(await page.content()).not.toMatch(/pk_\w{10}/)
    const [, , , method, url, , keyHeader, , , , body] = wordsOf(line, {
      PROSPECT_API_KEY: key,
      PATH: '/usr/bin:/bin',
    })
    expect(keyHeader).toBe(`X-API-KEY: ${key}`)
    const response = await fetch(url ?? '', {
      method: method ?? '',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: body ?? '',
    })
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('[data-kept]').waitFor()
    expect(await reply(page)).toEqual(await response.json())
    expect(JSON.parse(body ?? '')).toEqual({
      keyword: "it's $HOME",
      company_size: ['11-50', '51-200'],
      live: false,
    })
    const [, ...argv] = wordsOf(await code(page, 'As a command'))
    expect(await full.json(...argv)).toEqual(await reply(page))
  })

  it('accepts work whose results stay on this machine', async () => {
    const page = await full.open('try?operation=accounts.search&show=1&company_size=11-50&limit=2')
    expect(await code(page, 'As a command')).toBe('prospect accounts search --company-size 11-50 --limit 2')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('[data-kept]').waitFor()
    const { id } = (await reply(page)) as { id: string }
    const jobs = await full.json<{ id: string }[]>('engine', 'jobs', 'list')
    expect(jobs.map((job) => job.id)).toContain(id)
  })

  it('shows a refusal as text, before and after sending', async () => {
    const page = await full.open(
      `try?operation=accounts.count_profiles&show=1&company_network_url=${encodeURIComponent('<img src=x onerror=alert(1)>')}`,
    )
    expect(await page.locator('.refusal').innerText()).toContain('It would be refused')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('#messages p', { hasText: 'Refused with 4' }).waitFor()
    await takeScreenshot(page, 'try-refused')
    expect(await page.locator('main img, #messages img').count()).toBe(0)
  })

  it('shows requests, and sends none, when it is read-only', async () => {
    const page = await readOnly.open('try?operation=accounts.enrich&show=1&domain=a.example')
    expect(await code(page, 'As a command')).toBe('prospect accounts enrich --domain a.example')
    expect(await page.locator('[data-action]').count()).toBe(0)
  })
})
