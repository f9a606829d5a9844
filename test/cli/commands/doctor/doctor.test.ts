import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest } from '../../../client/listeners.js'
import { canary, command, errorOf, keyed, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

interface Examined {
  readonly ok: boolean
  readonly checks: readonly { name: string; status: string; text: string; hint: string | null }[]
}

const doctor = async (env: Record<string, string> = {}, ...argv: string[]) => {
  const ended = await command(['doctor', '--json', ...argv], { env: { PROSPECT_HOME: here.home, ...env } })
  return { ...ended, examined: JSON.parse(ended.stdout) as Examined }
}

/** Returns every file in the home with its mode, time and hash. */
const everything = async () => {
  const names = readdirSync(here.home, { recursive: true, encoding: 'utf8' }).sort()
  const states = names.map(async (name) => {
    const path = join(here.home, name)
    const { mode, mtimeMs } = await stat(path)
    return [name, mode, mtimeMs, createHash('sha256').update(readFileSync(path)).digest('hex')]
  })
  return Promise.all(states)
}

describe('doctor', () => {
  it('finds no problem on a new machine, and creates no file', async () => {
    const { code, stderr, examined } = await doctor()
    expect([code, stderr, examined.ok]).toEqual([0, '', true])
    expect(readdirSync(here.home)).toEqual([])
  })

  it('finds no problem on a used machine, and changes no file', async () => {
    await here.run(['data', 'sample', '--companies', '3', '--people', '3'])
    await here.json('init')
    await here.json('events', 'list')
    const before = await everything()
    const { code, examined } = await doctor()
    const told = examined.checks.filter(({ name, status }) => status !== 'ok' && name !== 'file system')
    expect([code, told]).toEqual([0, []])
    expect(await everything()).toEqual(before)
  })

  it('prints the name, status, text and hint of each check', async () => {
    const { examined } = await doctor()
    expect(examined.checks.length).toBeGreaterThan(10)
    for (const check of examined.checks)
      expect(Object.keys(check)).toEqual(['name', 'status', 'text', 'hint'])
  })

  it('exits 13 for a problem and 0 for a warning', async () => {
    await here.json('engine', 'clock', 'advance', '1d')
    const warned = await doctor()
    expect([warned.code, warned.examined.ok]).toEqual([0, true])
    await chmod(join(here.home, 'engine.db'), 0o644)
    const ended = await doctor()
    expect([ended.code, ended.examined.ok, errorOf(ended)]).toMatchObject([
      13,
      false,
      { error: 'Something is wrong: files.', code: 'check_failed' },
    ])
  })

  it('runs the other checks when settings and credentials are damaged', async () => {
    await here.json('init')
    await writeFile(join(here.home, 'config.json'), '{')
    await writeFile(join(here.home, 'credentials.json'), '{')
    const { code, examined } = await doctor()
    expect(code).toBe(13)
    const status = (name: string) => examined.checks.find((check) => check.name === name)?.status
    expect(['settings', 'files', 'key', 'sessions'].map(status)).toEqual(
      'problem problem problem ok'.split(' '),
    )
  })

  it('prints a line for each check on a terminal, with its hint below', async () => {
    await here.json('engine', 'clock', 'advance', '1d')
    const env = { PROSPECT_HOME: here.home }
    const { stdout } = await command(['doctor'], { env, terminal: true })
    expect(stdout).toMatch(/^ok {7}node +Node \d+\.\d+\.\d+ is new enough\.\n/)
    expect(stdout).toMatch(
      /\nwarning {2}clock +The engine clock was changed.*\n +→ Set it to real time: prospect engine clock reset/,
    )
    expect(stdout).toMatch(/\n\n\d problems?, \d warnings?\.\n$/)
  })

  it('prints no key or secret', async () => {
    await here.json('init')
    const stored = readFileSync(join(here.home, 'credentials.json'), 'utf8')
    const own = /pk_\w+/.exec(stored)?.[0] ?? 'none'
    const given = await doctor({ PROSPECT_API_KEY: canary, PROSPECT_WEBHOOK_SECRET: 'whsec_hunter2hunter2' })
    expect(given.code).toBe(13)
    expect(given.stdout + given.stderr).not.toMatch(new RegExp(`${own}|${canary}|hunter2`))
  })
})

describe('doctor against a server', () => {
  const heard: { url: string | undefined; key: unknown }[] = []
  const listening = async (answer: (url: string) => object | undefined) => {
    heard.length = 0
    const { port } = closeAfterTest(
      await answering((request, response) => {
        heard.push({ url: request.url, key: request.headers['x-api-key'] })
        const body = answer(request.url ?? '')
        response.writeHead(body ? 200 : 401, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify(body ?? { error: `Invalid API key ${String(request.headers['x-api-key'])}` }),
        )
      }),
    )
    return `http://127.0.0.1:${port}/team/api/v2`
  }

  it('asks for /health without the key, and then for credits and account', async () => {
    const baseUrl = await listening(() => ({ credits: { enrichment: 7 }, idempotency: 'Idempotency-Key' }))
    const ended = await command(['doctor', '--json', '--base-url', baseUrl], { env: keyed(here.home) })
    expect([ended.code, ended.stderr]).toEqual([0, ''])
    expect(heard).toEqual([
      { url: '/team/health', key: undefined },
      { url: '/team/api/v2/credits', key: canary },
      { url: '/team/api/v2/account', key: canary },
    ])
    expect(ended.stdout).toContain('7 credits are left')
    expect(readdirSync(here.home)).toEqual([])
  })

  it('does not print the key when the server repeats it', async () => {
    const baseUrl = await listening((url) => (url.endsWith('/health') ? {} : undefined))
    const ended = await command(['doctor', '--json', '--base-url', baseUrl], { env: keyed(here.home) })
    expect(ended.code).toBe(13)
    expect(ended.stdout).toContain('GET /credits is refused with 401')
    expect(ended.stdout + ended.stderr).not.toContain(canary)
  })

  it('sends a stored key to its own server only', async () => {
    const baseUrl = await listening(() => ({}))
    const ended = await command(['doctor', '--json', '--base-url', baseUrl], {
      env: { PROSPECT_HOME: here.home },
    })
    expect(ended.code).toBe(13)
    expect(ended.stdout).toContain('There is no API key for')
    expect(heard.map(({ url }) => url)).toEqual(['/team/health'])
  })
})
