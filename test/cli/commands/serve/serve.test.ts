import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../../../support/command.js'

let here: Machine
let heard: (stdout: string) => void

beforeEach(() => {
  heard = () => {}
  here = machine((stdout) => heard(stdout))
})
afterEach(() => here.remove())

/** A server on a free port in this process, and the first line it printed. */
async function serving(...options: string[]) {
  const firstLine = new Promise<string>((resolve) => {
    heard = (stdout) => stdout.includes('\n') && resolve(stdout.slice(0, stdout.indexOf('\n')))
  })
  const ended = here.run(['serve', '--port', '0', ...options])
  const line = await Promise.race([firstLine, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])
  const stop = (signal: string) => {
    here.signals.emit(signal)
    return ended
  }
  return { line, stop }
}

describe('serve', () => {
  it.each(['SIGINT', 'SIGTERM'])('prints its base URL first and exits 0 on %s', async (signal) => {
    const { line, stop } = await serving()
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2$/)
    expect((await fetch(new URL('/health', line))).status).toBe(200)
    const { code, stdout } = await stop(signal)
    expect([code, stdout]).toEqual([0, `${line}\n`])
  })

  it('prints an object with --json', async () => {
    const { line, stop } = await serving('--json')
    expect(JSON.parse(line)).toEqual({ base_url: expect.stringMatching(/\/api\/v2$/), pid: process.pid })
    expect((await stop('SIGTERM')).code).toBe(0)
  })

  it('serves the workspace of this machine to its keys only', async () => {
    await here.json('init')
    const { key } = await here.json<{ key: string }>('engine', 'keys', 'create', '--member', 'me@localhost')
    const { line, stop } = await serving()
    expect((await fetch(`${line}/credits`)).status).toBe(401)
    const answer = await fetch(`${line}/credits`, { headers: { 'x-api-key': key } })
    expect(await answer.json()).toMatchObject({ credits: { enrichment: 1_000 } })
    await stop('SIGTERM')
  })

  it('serves another database with --database', async () => {
    const { stop } = await serving('--database', 'other.db')
    expect((await stop('SIGTERM')).code).toBe(0)
    expect([existsSync(join(here.home, 'other.db')), existsSync(join(here.home, 'engine.db'))]).toEqual([
      true,
      false,
    ])
  })

  it('names its own address in the OpenAPI document', async () => {
    const { line, stop } = await serving()
    const document = await (await fetch(new URL('/openapi.json', line))).json()
    expect(document).toMatchObject({ servers: [{ url: line }] })
    await stop('SIGTERM')
  })

  it.each([
    [['--database', 'postgres://ann:secret@host/db'], 'PGPASSFILE'],
    [['--database', 'postgres://host/db?password=secret'], 'PGPASSFILE'],
    [['--host', '0.0.0.0'], '--public'],
    [['--port', '70000'], 'port'],
    [['--port', 'x'], 'port'],
    [['extra'], 'arguments'],
  ])('refuses serve with %j', async (options, word) => {
    const { code, stdout, stderr } = await here.run(['serve', '--port', '0', ...options])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(word)
    expect(stderr).not.toContain('secret')
  })

  it('says which port is in use', async () => {
    const { line, stop } = await serving()
    const { port } = new URL(line)
    const second = await here.run(['serve', '--port', port])
    expect([second.code, second.stderr.includes(port)]).toEqual([2, true])
    await stop('SIGTERM')
  })
})

const program = join(import.meta.dirname, '..', '..', '..', '..', 'bin', 'prospect.js')

describe('serve as a process', () => {
  it('answers, keeps its engine from being deleted, and exits 0 on SIGTERM', async () => {
    await here.run(['data', 'import', 'companies', '-'], { stdin: 'name,domain\nAcme,acme.example\n' })
    await here.json('init')
    const { key } = await here.json<{ key: string }>('engine', 'keys', 'create', '--member', 'me@localhost')
    const env = { PATH: process.env.PATH, PROSPECT_HOME: here.home }
    const child = spawn(process.execPath, [program, 'serve', '--port', '0', '--json'], { env })
    try {
      const { base_url, pid } = JSON.parse(await lineOf(child)) as { base_url: string; pid: number }
      expect(pid).toBe(child.pid)
      const answer = await fetch(`${base_url}/accounts/single_enrich`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: '{"domain":"acme.example"}',
      })
      expect([answer.status, await answer.json()]).toMatchObject([200, { name: 'Acme' }])
      expect((await here.run(['engine', 'reset', '--yes'])).code).toBe(2)
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
      expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 999 } })
    } finally {
      child.kill('SIGKILL')
    }
  })
})

/** The first line a process prints; fails when it ends without one. */
async function lineOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  for await (const line of createInterface(child.stdout)) return line
  throw new Error('it ended before it served')
}
