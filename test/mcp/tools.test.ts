import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../client/listeners.js'
import { type Machine, machine } from '../support/command.js'
import { isLong } from '../support/effort.js'
import { rowsOf } from '../support/fixtures.js'
import { makeFolder } from '../support/new-folder.js'
import { prospect } from '../support/processes.js'
import { readyForTools } from './every-tool.js'

const root = join(import.meta.dirname, '..', '..')
/** The tools are installed apart, by their own lockfile: they are large, and no part of the project. */
const tools = join(root, 'node_modules', '.cache', 'mcp-tools')
const token = '0123456789abcdef0123'

/** The scenarios of the conformance suite that fail here, in which revision, and why. */
const expectedFailures = rowsOf('mcp/expected-failures.tsv')

describe.runIf(isLong)("prospect mcp under other people's tools", () => {
  let here: Machine
  let folder: string
  beforeAll(async () => {
    folder = makeFolder()
    cpSync(join(import.meta.dirname, 'tools'), tools, { recursive: true })
    const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
    await execa('npm', npm, { cwd: tools, stdin: 'ignore' })
    here = machine()
    await here.json('init --yes --sample')
  })
  afterAll(() => {
    here.remove()
    rmSync(folder, { recursive: true })
  })

  const tool = (path: string, ...args: string[]) =>
    execa(process.execPath, [join(tools, 'node_modules', '@modelcontextprotocol', path), ...args], {
      cwd: folder,
      env: { HOME: folder, NO_COLOR: '1' },
      all: true,
      reject: false,
    })

  /** Serves over HTTP, behind a server that adds the token, which the suite cannot send. Returns its address. */
  async function serve(): Promise<string> {
    const started = Promise.withResolvers<URL>()
    const onErrorOutput = (text: string) => {
      const [, url] = /at (http\S+mcp)\./.exec(text) ?? []
      if (url) started.resolve(new URL(url))
    }
    const ended = here.run('mcp --http --port 0', { env: { PROSPECT_MCP_TOKEN: token }, onErrorOutput })
    const { host, port } = await started.promise
    const front = createServer((incoming, outgoing) => {
      const own = incoming.socket.localPort
      const replace = (text = '') => text.replace(new RegExp(`(?:localhost|127\\.0\\.0\\.1):${own}`), host)
      const { origin, ...rest } = incoming.headers
      const headers = {
        ...rest,
        host: replace(rest.host),
        authorization: `Bearer ${token}`,
        ...(origin === undefined ? {} : { origin: replace(origin) }),
      }
      const { url: path, method } = incoming
      const passed = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      passed.on('error', () => outgoing.destroy())
      outgoing.on('close', () => passed.destroy())
      incoming.pipe(passed)
    })
    await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve))
    closeAfterTest({
      close: async () => {
        front.closeAllConnections()
        front.close()
        here.signals.emit('SIGINT')
        await ended
      },
    })
    return `http://127.0.0.1:${(front.address() as { port: number }).port}/mcp`
  }

  it.each(['2025-11-25', '2026-07-28'])(
    'fails only what is expected of the conformance suite of %s',
    async (revision) => {
      const file = join(folder, `${revision}.yml`)
      const names = expectedFailures.flatMap(([name, of]) => (of === 'both' || of === revision ? [name] : []))
      writeFileSync(file, `server:\n${names.map((name) => `  - ${name}\n`).join('')}`)
      const options = ['--requirements', revision, '--expected-failures', file]
      const suite = 'conformance/dist/index.js'
      const { all, exitCode } = await tool(suite, 'server', '--url', await serve(), ...options)
      expect(all).not.toMatch(/Unexpected|stale/i)
      expect(all).toContain('✓ dns-rebinding-protection')
      expect(exitCode).toBe(0)
    },
  )

  it('lists its tools to the inspector, and calls those of every kind', async () => {
    const own = machine()
    closeAfterTest({ close: async () => own.remove() })
    await readyForTools(own)
    const inspect = async (...args: string[]) => {
      const server = [
        process.execPath,
        prospect,
        'mcp',
        '--root',
        own.home,
        '--max-credits',
        '900',
        '--areas',
        'all',
      ]
      const { stdout, stderr, exitCode } = await tool(
        'inspector/clients/launcher/build/index.js',
        '--cli',
        '-e',
        `PROSPECT_HOME=${own.home}`,
        ...server,
        ...args,
      )
      // It fails where a tool does.
      if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`)
      return JSON.parse(stdout) as Record<string, unknown>
    }
    const call = async (name: string, ...fields: string[]) =>
      (
        await inspect(
          ...['--method', 'tools/call', '--tool-name', name],
          ...fields.flatMap((field) => ['--tool-arg', field]),
        )
      ).structuredContent
    const { tools: listed } = await inspect('--method', 'tools/list', '--strict')
    expect((listed as { name: string }[]).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['accounts_enrich', 'run_file', 'ledger']),
    )
    // Others are called by the clients of the SDK, which the inspector uses as well.
    expect(await call('accounts_enrich', 'domain="acme-robotics.example"')).toMatchObject({
      name: 'Acme Robotics GmbH',
    })
    const asked = ['operation="accounts_enrich"', 'file="list.csv"', 'output="out.csv"', 'wait=60']
    expect(await call('run_file', ...asked)).toMatchObject({ status: 'finished' })
    expect(await inspect('--method', 'resources/read', '--uri', 'prospect://credits')).toMatchObject({
      contents: [{ text: expect.stringContaining('enrichment') }],
    })
  })
})
