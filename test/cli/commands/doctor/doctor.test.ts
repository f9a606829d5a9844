import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest } from '../../../client/listeners.js'
import { canary, errorOf, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { loadSample } from '../../../support/sample.js'

const here = perTest(machine)

interface Examined {
  readonly ok: boolean
  readonly checks: readonly { name: string; status: string; text: string; hint: string | null }[]
}

const doctor = async () => {
  const ended = await here.run('doctor --json')
  return { ...ended, examined: ended.json as Examined }
}

/** Returns every file in the home with its mode, time and hash. */
const everything = () =>
  readdirSync(here.home).map((name) => {
    const { mode, mtimeMs } = statSync(here.path(name))
    return [
      name,
      mode,
      mtimeMs,
      createHash('sha256')
        .update(readFileSync(here.path(name)))
        .digest('hex'),
    ]
  })

describe('doctor', () => {
  it('finds no problem on a new machine, and creates no file', async () => {
    const { code, stderr, examined } = await doctor()
    expect([code, stderr, examined.ok]).toEqual([0, '', true])
    expect(readdirSync(here.home)).toEqual([])
  })

  it('finds no problem on a used machine, and changes no file', async () => {
    await loadSample(here.home)
    for (const line of ['init', 'events list']) await here.run(line)
    const before = everything()
    const { code, examined } = await doctor()
    const told = examined.checks.filter(({ name, status }) => status !== 'ok' && name !== 'file system')
    expect([code, told]).toEqual([0, []])
    expect(everything()).toEqual(before)
  })

  it('exits 13 for a problem and 0 for a warning', async () => {
    await here.json('engine clock advance 1d')
    const warned = await doctor()
    expect([warned.code, warned.examined.ok]).toEqual([0, true])
    chmodSync(here.path('engine.db'), 0o644)
    const ended = await doctor()
    expect([ended.code, ended.examined.ok, errorOf(ended)]).toMatchObject([
      13,
      false,
      { error: 'Something is wrong: files.', code: 'check_failed' },
    ])
  })

  it('runs the other checks when settings and credentials are damaged', async () => {
    await here.json('init')
    for (const name of ['config.json', 'credentials.json']) here.write(name, '{')
    const { code, examined } = await doctor()
    expect(code).toBe(13)
    const status = (name: string) => examined.checks.find((check) => check.name === name)?.status
    expect(['settings', 'files', 'key', 'sessions'].map(status)).toEqual(
      'problem problem problem ok'.split(' '),
    )
  })

  it('prints a line for each check on a terminal, with its hint below', async () => {
    await here.json('engine clock advance 1d')
    const { stdout } = await here.run('doctor', { terminal: true, columns: 160 })
    expect(stdout).toMatch(/^ok {7}node +Node \d+\.\d+\.\d+ is new enough\.\n/)
    expect(stdout).toMatch(
      /\nwarning {2}clock +The engine clock was changed.*\n +→ Set it to real time: prospect engine clock reset/,
    )
    expect(stdout).toMatch(/\n\n\d problems?, \d warnings?\.\n$/)
    const narrow = await here.run('doctor', { terminal: true, columns: 60 })
    expect(narrow.stdout.split('\n').filter((line) => line.length > 60)).toEqual([])
  })
})

it('asks a server for /health without the key, and then for credits and account', async () => {
  const heard: unknown[] = []
  const server = closeAfterTest(
    await answering(({ url, headers }, response) => {
      heard.push([url, headers['x-api-key']])
      const isAccount = String(url).endsWith('/account')
      const account = '{"account":{"email":"ada@example.com"},"workspace":{"name":"Team"}}'
      response.end(isAccount ? account : '{"credits":{"enrichment":7},"idempotency":"Idempotency-Key"}')
    }),
  )
  const env = { PROSPECT_API_KEY: canary, PROSPECT_BASE_URL: `${server.origin}/team/api/v2` }
  const ended = await here.run('doctor --json', { env })
  expect([ended.code, ended.stderr]).toEqual([0, ''])
  const asked = ['/team/api/v2/credits', '/team/api/v2/account'].map((url) => [url, canary])
  expect(heard).toEqual([['/team/health', undefined], ...asked])
  expect(ended.stdout).toContain('7 credits are left')
  expect(readdirSync(here.home)).toEqual([])
})
