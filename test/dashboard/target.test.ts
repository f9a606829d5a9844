import { describe, expect, it } from 'vitest'
import { answering, received } from '../client/listeners.js'
import { hasNoBrowser, openPage, ready } from '../support/browser.js'
import { ends, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { cellsOf, runOn, serveDashboard } from './dashboard.js'

/** A server with companies, a proxy of a team with a dashboard, whose own engine is for practice, and the machine of a member. */
async function team() {
  const server = machine()
  await server.fill(
    'companies',
    `name,domain\n${[1, 2, 3, 4, 5].map((at) => `Company ${at},c${at}.example\n`).join('')}`,
  )
  const key = await server.newKey()
  const serving = await server.start('serve --port 0')
  const proxy = await serveDashboard(
    async (here) => {
      await runOn(here, 'engine members add ann@example.com --weekly-limit 3')
      await runOn(here, 'engine members add bob@example.com')
    },
    { options: ['--upstream', serving.line], env: { PROSPECT_API_KEY: key } },
  )
  const ann = machine()
  const apiUrl = `${proxy.origin}/api/v2`
  const env = { PROSPECT_BASE_URL: apiUrl, PROSPECT_API_KEY: await proxy.newKey('ann@example.com') }
  /** Opens the dashboard of a command on a machine. */
  const open = async (here: typeof ann, line: string, given: Readonly<Record<string, string>>) => {
    const { line: text, stop } = await here.start(`dashboard --port 0 --json ${line}`, { env: given })
    const opened = await openPage((JSON.parse(text) as { url: string }).url)
    return {
      ...opened,
      origin: new URL(opened.page.url()).origin,
      close: async () => {
        await opened.close()
        await stop()
      },
    }
  }
  return {
    server,
    serverUrl: serving.line,
    proxy,
    ann,
    env,
    open,
    lookUp: async (...companies: number[]) => {
      for (const at of companies) await ends(ann.run(`accounts enrich --domain c${at}.example`, { env }), 0)
    },
    close: async () => {
      await proxy.close()
      await serving.stop()
      for (const here of [server, ann]) here.remove()
    },
  }
}

// One test after the other: each continues what those before it did.
describe.skipIf(hasNoBrowser)('a dashboard of a server', { shuffle: false }, () => {
  const here = perFile(team)

  it('shows the balance of the server, what members spent there, and whose week is used up', async () => {
    const page = await here.proxy.open()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('.figure', { hasText: '1,000' }).waitFor()
    expect(await page.locator('.heading').innerText()).toContain(`Server ${new URL(here.serverUrl).host}`)
    await here.lookUp(1, 2)
    // It follows what happens at the proxy.
    await page.locator('.figure', { hasText: '998' }).waitFor()
    await page.getByText('2 credits, at most 2 a day').waitFor()
    expect((await cellsOf(page, 'Members')).map((cells) => cells.slice(0, 4))).toEqual([
      ['me@localhost', '–', '0', '–'],
      ['ann@example.com', '–', '2', '3'],
      ['bob@example.com', '–', '0', '–'],
    ])
    const attention = page.locator('section', { hasText: 'Needs attention' }).first()
    expect(await attention.innerText()).toContain('Nothing: ')
    await here.lookUp(3)
    await attention
      .getByText(
        `ann@example.com has used up their 3 credits of this week at ${new URL(here.serverUrl).host}.`,
      )
      .waitFor()
    // What the engine of this machine has is not what the team has.
    expect(await page.locator('nav[aria-label=Views]').innerText()).not.toContain('Catalogue')
    await here.proxy.go(page, 'ledger?by=member&by=operation')
    expect(await cellsOf(page, 'Credits by operation, member')).toEqual([
      ['accounts enrich', 'ann@example.com', '3', '3'],
    ])
    await here.proxy.go(page, 'ledger')
    expect(await page.locator('main').innerText()).not.toContain('Movements')
    await here.proxy.go(page, 'engine')
    expect((await cellsOf(page, 'Keys')).map(([, , member]) => member)).toContain('ann@example.com')
    expect(await page.locator('main').innerText()).not.toMatch(/Plan and credits|Clock/)
  })

  it('tries an operation as a member of the proxy, which is recorded once', async () => {
    const page = await here.proxy.open('try?operation=accounts.enrich&domain=c5.example&show=1')
    await page.getByRole('button', { name: /^Send for/ }).click()
    await page.getByRole('button', { name: /^Send and pay/ }).click()
    await page.getByText('200: 1 credit charged.').waitFor()
    const spent =
      await here.proxy.json<{ target: string; member: string; credits: number }[]>(
        'ledger --by target,member',
      )
    expect(spent.filter(({ member }) => member === 'me@localhost')).toMatchObject([
      { target: here.serverUrl, credits: 1 },
    ])
  })

  it('shows a member what is theirs, and creates no workspace', async () => {
    const { page, problems, close } = await here.open(here.ann, '', here.env)
    const text = await page.locator('main').innerText()
    expect(text).toContain('This week')
    expect(text).toMatch(/0 left of 3/)
    expect(text).toContain('Your week is used up: the limit is 3 credits')
    expect(text).toContain('3 credits, at most 3 a day')
    expect(await page.locator('nav[aria-label=Views]').innerText()).not.toContain('Members')
    expect(problems).toEqual([])
    await close()
    expect(here.ann.exists('engine.db')).toBe(false)
  })

  it('shows beside the engine of this machine what was spent at servers', async () => {
    const { page, close } = await here.open(here.proxy, '--local', {})
    expect(await cellsOf(page, 'Spent at servers')).toContainEqual([
      here.serverUrl,
      'ann@example.com',
      '3',
      '3',
    ])
    expect(await page.locator('main').innerText()).toContain('ann@example.com has used up their 3 credits')
    await close()
  })

  it('says why it does not know what is left at a server that does not answer as one', async () => {
    const broken = await answering(async (request, response) => {
      await received(request)
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{"error":"Invalid API key"}')
    })
    const env = { PROSPECT_BASE_URL: `${broken.origin}/api/v2`, PROSPECT_API_KEY: 'theirs' }
    const { page, origin, close } = await here.open(here.ann, '', env)
    const text = await page.locator('main').innerText()
    expect(text).toContain('Invalid API key')
    expect(text).not.toContain('Nothing: ')
    for (const view of ['runs', 'inbox', 'ledger', 'try']) {
      await page.goto(`${origin}/dashboard/${view}`)
      await ready(page)
    }
    await close()
    await broken.close()
  })

  it('says what to run on a machine that has only received events', async () => {
    const only = machine()
    const listening = await only.start('listen --port 0 --json')
    await listening.stop()
    const { page, origin, close } = await here.open(only, '', {})
    expect(await page.locator('main').innerText()).toMatch(/is not set up[\s\S]+prospect init/)
    for (const view of ['jobs', 'catalogue', 'ledger', 'engine']) {
      await page.goto(`${origin}/dashboard/${view}`)
      await page.getByText('prospect init').waitFor()
    }
    await page.goto(`${origin}/dashboard/inbox`)
    await ready(page)
    expect([only.exists('engine.db'), only.exists('catalogue.db')]).toEqual([false, false])
    // It shows the workspace from its beginning.
    await only.setUp()
    await page.goto(`${origin}/dashboard`)
    await page.locator('.figure', { hasText: '1,000' }).waitFor()
    await close()
    only.remove()
  })
})
