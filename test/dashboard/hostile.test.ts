import { copyFileSync, cpSync, readdirSync, readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { answering, closeAfterTest } from '../client/listeners.js'
import { hasNoBrowser, ready, sharedBrowser } from '../support/browser.js'
import { machine, wordsOf } from '../support/command.js'
import { perFile } from '../support/each.js'
import { sample } from '../support/effort.js'
import { until } from '../support/until.js'
import { fillWithSamples, receive, type ServedDashboard, serveDashboard } from './dashboard.js'

interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends a request with any headers, as no browser would. */
const send = (url: string, headers: Record<string, string> = {}, method = 'POST', body = '{}') =>
  new Promise<Answered>((resolve, reject) => {
    const asked = httpRequest(url, { method, headers: { 'content-type': 'application/json', ...headers } })
    asked.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response
        resolve({ status, headers: received, text: Buffer.concat(parts).toString() })
      })
    })
    asked.on('error', reject)
    asked.end(method === 'GET' ? undefined : body)
  })

const fromPage = { 'sec-fetch-site': 'same-origin' }

/** Signs in as a browser would; returns what proves that. */
async function signIn(here: ServedDashboard) {
  const link = new URL(await here.nextLink()).hash.slice(1)
  const { headers, text } = await send(
    `${here.origin}/dashboard/session`,
    fromPage,
    'POST',
    JSON.stringify({ link }),
  )
  const [setCookie = ''] = headers['set-cookie'] ?? []
  const [cookie = ''] = setCookie.split(';')
  const { token } = JSON.parse(text) as { token: string }
  return { link, setCookie, proof: { cookie, 'x-dashboard-token': token } }
}

describe('requests to the dashboard', () => {
  const here = perFile(serveDashboard)
  const ask = async (headers: Record<string, string>, path = '/data/', method?: string) =>
    (await send(`${here.origin}/dashboard${path}`, headers, method)).status

  it('are answered with cookie, token and origin together, and with no less', async () => {
    const { proof, link } = await signIn(here)
    const { cookie = '', 'x-dashboard-token': token = '' } = proof
    expect(await ask({ ...proof, ...fromPage })).toBe(200)
    expect(await ask({ ...proof, origin: here.origin })).toBe(200)
    expect(await ask({ cookie, ...fromPage })).toBe(401)
    expect(await ask({ 'x-dashboard-token': token, ...fromPage })).toBe(401)
    expect(await ask({ ...proof, 'x-dashboard-token': 'A'.repeat(43), ...fromPage })).toBe(401)
    expect(await ask(fromPage)).toBe(401)
    expect(await ask(proof)).toBe(403)
    for (const path of ['/live', '/data/runs', '/action/jobs/retry']) {
      expect(await ask({ cookie, ...fromPage }, path)).toBe(401)
      expect(await ask(proof, path)).toBe(403)
    }
    const again = await send(`${here.origin}/dashboard/session`, fromPage, 'POST', JSON.stringify({ link }))
    expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
  })

  it('are refused from other origins, other sites and other names', async () => {
    const { proof } = await signIn(here)
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { ...fromPage, host: 'evil.example' },
      { ...fromPage, host: `evil.example:${new URL(here.origin).port}` },
    ])
      expect([headers, await ask({ ...proof, ...headers } as Record<string, string>)]).toEqual([headers, 403])
  })

  it('read nothing by GET, and get a page without data', async () => {
    const { proof } = await signIn(here)
    expect(await ask({ ...proof, ...fromPage }, '/data/runs', 'GET')).toBe(405)
    const { status, text } = await send(`${here.origin}/dashboard/runs`, proof, 'GET')
    expect(status).toBe(200)
    expect(text).not.toContain('Workspace')
  })

  it('get the security headers with every answer', async () => {
    for (const path of ['', '/assets/page.js', '/assets/style.css', '/none']) {
      const { headers } = await send(`${here.origin}/dashboard${path}`, {}, 'GET')
      const policy = String(headers['content-security-policy'])
      expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
      expect(policy).not.toMatch(/unsafe|\*|http/)
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'cross-origin-opener-policy': 'same-origin',
      })
    }
    const { headers } = await send(`${here.origin}/dashboard/session`, fromPage, 'POST', '{"link":"x"}')
    expect(headers['cache-control']).toBe('no-store')
  })

  it('set a cookie that no script and no other site gets', async () => {
    const { setCookie } = await signIn(here)
    expect(setCookie).toMatch(/; Path=\/dashboard; HttpOnly; SameSite=Strict$/)
  })

  it('leave nothing of a session in the home', async () => {
    const { proof, link } = await signIn(here)
    for (const view of ['', 'runs', 'jobs', 'inbox', 'catalogue', 'ledger', 'engine', 'try'])
      expect(await ask({ ...proof, ...fromPage }, `/data/${view}`)).toBe(200)
    const files = readdirSync(here.home).filter((name) => !/\.db(-wal|-shm)?$/.test(name))
    expect(files).toEqual(['credentials.json'])
    const kept = readdirSync(here.home).map((name) => readFileSync(join(here.home, name), 'latin1'))
    for (const secret of [link, proof['x-dashboard-token'], proof.cookie?.split('=')[1]])
      expect(kept.join()).not.toContain(secret)
  })

  it('take no other form than texts in JSON', async () => {
    const { proof } = await signIn(here)
    const post = async (body: string, type = 'application/json') => {
      const headers = { ...proof, ...fromPage, 'content-type': type }
      return (await send(`${here.origin}/dashboard/action/jobs/retry`, headers, 'POST', body)).status
    }
    expect(await post('id=1', 'application/x-www-form-urlencoded')).toBe(415)
    expect(await post('{"id":{"toString":1}}')).toBe(400)
    expect(await post('[1]')).toBe(400)
    expect(await post(`"${'x'.repeat(1_100_000)}"`)).toBe(413)
    expect(await ask({ ...proof, ...fromPage }, '/action/jobs/constructor')).toBe(404)
    expect(await ask({ ...proof, ...fromPage }, '/action/__proto__/x')).toBe(404)
  })

  it('are refused while another workspace is in use', async () => {
    const { proof } = await signIn(here)
    await here.run(['engine', 'workspaces', 'create', 'Other'])
    await here.run(['engine', 'workspaces', 'use', 'Other'])
    const { status, text } = await send(`${here.origin}/dashboard/data/`, { ...proof, ...fromPage })
    expect([status, text]).toEqual([401, expect.stringContaining('The workspace in use is now Other')])
    await here.run(['engine', 'workspaces', 'use', 'Local'])
    expect(await ask({ ...proof, ...fromPage })).toBe(200)
  })
})

describe('a dashboard that other machines can reach', () => {
  const filled = perFile(machine)
  beforeAll(async () => {
    await filled.run('init')
    await fillWithSamples(filled)
  })

  for (const options of [['--read-only'], ['--host', '0.0.0.0', '--public']])
    it(`changes nothing with ${options.join(' ')}`, async () => {
      const here = closeAfterTest(
        await serveDashboard(({ home }) => cpSync(filled.home, home, { recursive: true }), { options }),
      )
      const { proof } = await signIn(here)
      const ask = (path: string) => send(`${here.origin}/dashboard/${path}`, { ...proof, ...fromPage })
      const actions = 'runs/quote runs/resume runs/stop jobs/retry jobs/deliver inbox/replay engine/create'
      for (const action of actions.split(' ')) {
        const { status, text } = await ask(`action/${action}`)
        expect([action, status, text]).toEqual([action, 403, expect.stringContaining('read-only')])
      }
      for (const view of ['', 'runs', 'jobs', 'inbox', 'engine', 'ledger', 'ledger?by=day']) {
        const { text } = await ask(`data/${view}`)
        expect(text).toContain('read-only')
        expect(text).not.toContain('data-action')
      }
    })
})

/** What a page of another origin tries; it returns what it could read. */
const attack = (origin: string): string => `
  (async () => {
    const read = []
    const paths = ['/dashboard', '/dashboard/data/', '/dashboard/live', '/dashboard/action/jobs/retry', '/dashboard/assets/page.js']
    for (const path of paths)
      for (const mode of ['cors', 'no-cors'])
        for (const method of ['GET', 'POST'])
          await fetch('${origin}' + path, { mode, method, credentials: 'include', ...(method === 'POST' ? { body: '{}' } : {}) })
            .then(async (answer) => { const text = await answer.text(); if (text) read.push(path) }, () => {})
    await fetch('${origin}/dashboard/action/jobs/retry', { method: 'POST', credentials: 'include', body: '{}',
      headers: { 'content-type': 'application/json', 'x-dashboard-token': 'x' } }).then(() => read.push('preflight'), () => {})
    const frame = document.createElement('iframe')
    frame.src = '${origin}/dashboard'
    document.body.append(frame)
    await new Promise((done) => { frame.onload = done; setTimeout(done, 2000) })
    try { if (frame.contentDocument?.body.textContent) read.push('frame') } catch { if (frame.contentWindow.length > 0) read.push('frames') }
    const script = document.createElement('script')
    script.src = '${origin}/dashboard/assets/page.js'
    script.type = 'module'
    await new Promise((done) => { script.onload = () => { read.push('script'); done() }; script.onerror = done; document.head.append(script) })
    return read
  })()`

describe.skipIf(hasNoBrowser)('hostile pages', () => {
  const cookies: string[] = []
  const markup = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`
  const here = perFile(() =>
    serveDashboard(async (machine) => {
      await fillWithSamples(machine)
      // Nothing in a file name of a URL or a Windows path: it is a name like any other.
      const file = `<img src=x onerror=pwned=1>.csv`
      copyFileSync(machine.path('leads.csv'), machine.path(file))
      await machine.run(`accounts enrich --csv '${file}' --yes -o x.csv --fresh --max-credits 1`)
      await receive(machine, 'msg_evil', markup, { id: markup, name: markup, signature: markup })
      await machine.run('engine webhooks secret')
      await machine.fill(
        'companies',
        `name,domain\n"Zyx ${markup.replaceAll('"', '""')}",zyx-markup.example\n`,
      )
      const url = `http://127.0.0.1:9/${encodeURIComponent(markup)}`
      await machine.run([
        ...wordsOf(`accounts search --keyword a --no-wait --webhook-url ${url} --name`),
        markup,
      ])
    }),
  )
  const evil = perFile(() =>
    answering((request, response) => {
      cookies.push(request.headers.cookie ?? '')
      response.setHeader('content-type', 'text/html').end('<body>Evil</body>')
    }),
  )

  it('of another origin read nothing, change nothing and frame nothing', async () => {
    const page = await here.open()
    const before = await here.json('engine', 'status')
    const other = await page.context().newPage()
    for (const origin of [evil.origin, evil.origin.replace('127.0.0.1', 'localhost')]) {
      await other.goto(origin)
      expect(await other.evaluate(attack(here.origin))).toEqual([])
    }
    const after = await here.json('engine', 'status')
    expect({ ...(after as object), clock: null }).toEqual({ ...(before as object), clock: null })
  })

  it('of another server of this machine get the cookie, and cannot use it', async () => {
    const page = await here.open()
    const [own] = await page.context().cookies(`${here.origin}/dashboard`)
    await page
      .context()
      .newPage()
      .then((other) => other.goto(`${evil.origin}/dashboard`))
    expect(cookies.join()).toContain(own?.value ?? 'no cookie')
    const { status } = await send(`${here.origin}/dashboard/data/`, {
      cookie: `${own?.name}=${own?.value}`,
      ...fromPage,
    })
    expect(status).toBe(401)
    const otherTab = await page.context().newPage()
    await otherTab.goto(evil.origin)
    expect(await otherTab.evaluate('localStorage.length')).toBe(0)
  })

  it('that open the dashboard in a window see nothing of it', async () => {
    const page = await here.open()
    const other = await page.context().newPage()
    await other.goto(evil.origin)
    const opening = other.context().waitForEvent('page')
    await other.evaluate(`window.opened = window.open('${here.origin}/dashboard'); undefined`)
    await ready(await opening)
    expect(await other.evaluate('window.opened.closed || window.opened.length')).toBe(true)
  })

  it('under a name that leads here are refused', async () => {
    const page = await (await sharedBrowser()).newPage()
    onTestFinished(() => page.close())
    const answer = await page.goto(`http://rebound.example:${new URL(here.origin).port}/dashboard`)
    expect(answer?.status()).toBe(403)
  })

  it('stay text, whatever a file, an event, a header or a body is called', async () => {
    const page = await here.open()
    const [run] = await here.json<{ id: string }[]>('runs', 'list')
    const [job] = await here.json<{ id: string }[]>('engine', 'jobs', 'list')
    const [delivery] = await here.json<{ id: string }[]>('engine', 'deliveries', 'list')
    const showing = {
      'catalogue?keyword=zyx': '<img src=x',
      'inbox?id=msg_evil': markup,
      runs: '<img src=x onerror=pwned=1>.csv',
    }
    const others = [
      '',
      'jobs',
      'catalogue',
      'ledger',
      'engine',
      'try',
      'inbox',
      `inbox?event=${encodeURIComponent(markup)}`,
      `runs?id=${run?.id}`,
      `jobs?id=${job?.id}`,
      `jobs?delivery=${delivery?.id}`,
    ].map((path) => [path, ''] as const)
    for (const [path, text] of [...Object.entries(showing), ...sample(others, 4, 1)]) {
      await here.go(page, path)
      expect([path, await page.evaluate('window.pwned')]).toEqual([path, undefined])
      expect(await page.locator('main :is(img, script)').count()).toBe(0)
      expect(await page.locator('main').textContent()).toContain(text)
    }
  })

  it('find no script of their own run, even where they could write markup', async () => {
    const { page, problems } = await here.watch()
    await page.evaluate(`document.querySelector('main').innerHTML = ${JSON.stringify(markup)}`)
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    await until(() => problems.join().includes('Content Security Policy'))
  })
})
