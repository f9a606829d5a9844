import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { getRequestListener } from '@hono/node-server'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { openapi } from '../../src/reference/openapi.js'
import { answering, closeAfterTest, freePort } from '../client/listeners.js'
import { isLong } from '../support/effort.js'
import { makeFolder } from '../support/new-folder.js'
import { launch, prospect, serving } from '../support/processes.js'
import type { Serve } from './sample-engine.js'
import { sampleRun } from './sample-run.js'

const root = join(import.meta.dirname, '..', '..')
/** The tools are installed apart, by their own lockfile: they are large, and no part of the project. */
const tools = join(root, 'node_modules', '.cache', 'openapi-tools')
const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }

/** Runs a tool, with the folder of the project as the current one. */
const tool = (path: string, ...args: string[]) =>
  execa(process.execPath, [join(tools, 'node_modules', path), ...args], {
    cwd: root,
    env,
    all: true,
    reject: false,
  })

describe.runIf(isLong)("the OpenAPI document under other people's tools", () => {
  let folder: string
  beforeAll(async () => {
    folder = makeFolder()
    cpSync(join(import.meta.dirname, 'tools'), tools, { recursive: true })
    const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
    await execa('npm', npm, { cwd: tools, stdin: 'ignore' })
    writeFileSync(join(folder, 'rules.yaml'), 'extends: ["spectral:oas"]\n')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Writes the document with full paths, for a server at an origin. Returns its path. */
  async function written(origin: string): Promise<string> {
    const document = (await openapi({ version: '0.0.1', serverUrl: `${origin}/api/v2` })) as {
      paths: Record<string, object>
    }
    const paths = Object.entries(document.paths).map(([path, one]) => [`/api/v2${path}`, one])
    const file = join(folder, 'openapi.json')
    const servers = [{ url: origin }]
    writeFileSync(file, JSON.stringify({ ...document, servers, paths: Object.fromEntries(paths) }))
    return file
  }

  /** Starts Prism in front of a server: it answers 422 or 500 in place of what does not fit the document. */
  async function openPrism(upstream: string): Promise<string> {
    const port = await freePort()
    const file = await written(upstream)
    const args = ['proxy', file, upstream, '--errors', '-p', String(port), '--verboseLevel', 'info']
    const running = tool('@stoplight/prism-cli/dist/index.js', ...args)
    closeAfterTest({
      close: async () => {
        running.kill()
        await running
      },
    })
    for await (const line of createInterface(running.all))
      if (line.includes('Prism is listening')) {
        running.all.resume()
        return `http://127.0.0.1:${port}`
      }
    throw new Error('Prism ended before it listened')
  }

  it('has no error for Redocly', async () => {
    const { exitCode, all } = await tool(
      '@redocly/cli/bin/cli.js',
      'lint',
      await written('http://127.0.0.1:4010'),
    )
    expect(all).not.toMatch(/Error was generated|Warning was generated/)
    expect(exitCode).toBe(0)
  })

  it('has no error for Spectral', async () => {
    const args = ['lint', await written('http://127.0.0.1:4010'), '--ruleset', join(folder, 'rules.yaml')]
    const { exitCode, all } = await tool('@stoplight/spectral-cli/dist/index.js', ...args)
    expect(all).toMatch(/0 errors|No results/)
    expect(exitCode).toBe(0)
  })

  it('lets Prism pass a request and an answer of every operation', async () => {
    const through = async (serve: Serve): Promise<Serve> => {
      const server = closeAfterTest(await answering(getRequestListener((request) => serve(request))))
      const prism = await openPrism(`http://127.0.0.1:${server.port}`)
      return async (request) => {
        const { pathname, search } = new URL(request.url)
        const { method, headers } = request
        const body = request.body === null ? null : await request.text()
        return fetch(`${prism}${pathname}${search}`, { method, headers, body })
      }
    }
    const direct = await sampleRun()
    const { exchanges } = await sampleRun(':memory:', through)
    const statuses = (run: typeof exchanges) => run.map(({ id, status }) => [id, status])
    expect(statuses(exchanges)).toEqual(statuses(direct.exchanges))
    expect(exchanges).toHaveLength(operations().length)
    expect(exchanges.map(({ body }) => body)).toEqual(direct.exchanges.map(({ body }) => body))
  })

  it('lets Prism pass every row of a batch', async () => {
    const home = join(folder, 'home')
    const run = (args: string[], more = {}) => launch(prospect, args, root, { PROSPECT_HOME: home, ...more })
    await run(['init', '--yes', '--sample'])
    const created = await run(['engine', 'keys', 'create', '--member', 'me@localhost', '--json'])
    const { baseUrl, stop } = await serving(prospect, home)
    closeAfterTest({ close: async () => void (await stop()) })
    const prism = await openPrism(new URL(baseUrl).origin)
    const { key } = JSON.parse(String(created.stdout)) as { key: string }
    const batch = ['accounts', 'enrich', '--csv', 'docs/examples/companies.csv', '--yes']
    const to = {
      PROSPECT_HOME: join(folder, 'other'),
      PROSPECT_API_KEY: key,
      PROSPECT_BASE_URL: `${prism}/api/v2`,
    }
    const columns = ['--format', 'ndjson']
    const { stdout, exitCode } = await run([...batch, ...columns, '--direct'], to)
    const local = await run([...batch, '--local', ...columns])
    const results = (text: unknown) =>
      String(text)
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .map(({ _status, _error }) => [_status, _error])
    expect(exitCode).toBe(local.exitCode)
    expect(results(stdout)).toEqual(results(local.stdout))
  })
})
