import { EventEmitter, once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { answering, type Listener } from '../client/listeners.js'
import { canary, type Line, machine, wordsOf } from '../support/command.js'
import { perTest } from '../support/each.js'
import { isLong, sample } from '../support/effort.js'

const here = perTest(machine)

/** Watches a folder from another process. The returned function stops it and returns the widest mode of each entry. */
async function watching(path: string) {
  const program = `
    const { lstatSync, readdirSync } = require('node:fs')
    const seen = {}
    let over = false
    process.stdin.on('end', () => { over = true }).resume()
    const look = () => {
      let names = []
      try { names = ['', ...readdirSync(process.argv[1], { recursive: true })] } catch {}
      for (const name of names)
        try {
          const { mode } = lstatSync(process.argv[1] + '/' + name)
          seen[name] = (seen[name] ?? 0) | (mode & 0o777)
        } catch {}
      if (!over) ${isLong ? 'setImmediate(look)' : 'setTimeout(look, 2)'}
      else process.stdout.write(JSON.stringify(seen))
    }
    process.stdout.write('watching\\n')
    look()`
  const child = execa(process.execPath, ['-e', program, path], { stdin: 'pipe' })
  await once(child.stdout, 'data')
  return async () => {
    child.stdin.end()
    const { stdout } = await child
    const seen = JSON.parse(stdout.slice(stdout.indexOf('\n') + 1)) as Record<string, number>
    return Object.fromEntries(Object.entries(seen).map(([name, mode]) => [name, mode.toString(8)]))
  }
}

const servers = ['serve', 'dashboard', 'worker', 'listen']

/** Runs a command; one that runs until a signal gets SIGTERM once it has said that it runs. */
function run(line: Line, env: Record<string, string> = {}) {
  const signals = new EventEmitter()
  const end = () => void setImmediate(() => signals.emit('SIGTERM'))
  const isServer = servers.includes(wordsOf(line)[0] ?? '')
  return here.run(line, {
    ...{ env, signals: signals as unknown as NodeJS.Process, sleep: async () => {} },
    ...(isServer ? { onOutput: end, onErrorOutput: end } : {}),
  })
}

it('creates every file and folder without access for others, whatever the umask', async () => {
  writeFileSync(here.path('in.csv'), 'domain\nacme-robotics.example\nnobody.example\n', {
    mode: 0o600,
  })
  const umask = process.umask(0)
  const seen = await watching(here.home)
  const lines = [
    'init --yes',
    'data sample',
    'config set timeout 60',
    'profiles add team --base-url https://api.example/api/v2',
    'accounts enrich --csv in.csv -o out.csv --summary-json summary.json',
    'accounts enrich --domain acme-robotics.example -o one.json',
    'leads search --company-domain acme-robotics.example --job-titles * --wait -o people.json',
    'engine webhooks secret',
    'engine backup backup.db',
    'data export companies -o companies.ndjson',
    'listen --port 0',
    'serve --port 0',
    'worker',
    'runs export --help',
    'ledger',
  ]
  const codes = []
  try {
    for (const line of lines) codes.push([line, (await run(line)).code])
  } finally {
    process.umask(umask)
  }
  const { '': own, ...entries } = await seen()
  expect(codes.filter(([, code]) => code !== 0 && code !== 143)).toEqual([])
  expect(own).toBe('700')
  const wide = Object.entries(entries).filter(([, mode]) => (Number.parseInt(mode, 8) & 0o077) !== 0)
  expect(wide).toEqual([])
  for (const name of 'engine.db catalogue.db state.db credentials.json config.json backup.db'.split(' '))
    expect(entries, name).toHaveProperty([name])
})

interface Described {
  readonly command: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

/** Returns every command with its required arguments. */
async function everyCommand(): Promise<readonly (readonly string[])[]> {
  const commands = await here.json<Described[]>('commands')
  expect(commands.length).toBeGreaterThan(80)
  return commands.map(({ command: words, arguments: given }) => [
    ...words.split(' '),
    ...given.filter(({ required }) => required).map(({ name }) => usual[name] ?? name),
  ])
}

const usual: Readonly<Record<string, string>> = {
  method: 'GET',
  path: '/credits',
  kind: 'companies',
  shell: 'bash',
}

/** Returns all ways to run a command, or without `--long` one of them, which differs from one command to the next. */
const some = <T>(ways: readonly T[], at: number): readonly T[] =>
  isLong ? ways : ways.filter((_, way) => (way + at) % ways.length === 0)

/** Lines with the key where something else belongs. */
const misplaced = [
  canary,
  `--apikey=${canary}`,
  `nothing --apikey=${canary}`,
  `accounts enrich --fields ${canary} --domain x.example`,
  `credits --base-url https://x/${canary}`,
  ...['profile', 'format', 'api-key-file'].map((option) => `credits --${option} ${canary}`),
]

const secret = `whsec_${Buffer.from('canary-canary-canary-canary').toString('base64')}`
const password = 'canary-password-of-a-proxy'

/** What the server does with the key it receives. */
const manners: Readonly<Record<string, Parameters<typeof answering>[0]>> = {
  'echoes it': (request, response) => {
    const key = String(request.headers['x-api-key'])
    response.writeHead(200, { 'x-echo': key }).end(JSON.stringify({ id: key, error: key, [key]: [key] }))
  },
  'refuses it by name': (request, response) =>
    response.writeHead(401).end(`{"error":"no key ${request.headers['x-api-key']}"}`),
  'fails with it': (request, response) => response.writeHead(500).end(`<h1>${request.headers['x-api-key']}`),
  'redirects with it': (request, response) =>
    response.writeHead(302, { location: `/${request.headers['x-api-key']}` }).end(),
  'cuts off': (request) => void request.socket.destroy(),
}

describe('secrets in output and files', () => {
  const texts = (): readonly (readonly [string, string])[] =>
    readdirSync(here.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'latin1')])

  const env: Record<string, string> = { PROSPECT_API_KEY: canary, PROSPECT_WEBHOOK_SECRET: secret }
  const hidden = [canary, secret, password]
  const found = (text: string) => hidden.filter((one) => text.includes(one))

  it('prints no secret in any command, whether valid, wrong or asking for help', async () => {
    const ways = [[], ['--help'], ['--json', '--verbose'], ['--no-such-option'], [canary]]
    const leaks: unknown[] = []
    for (const line of misplaced) {
      const { stdout, stderr } = await run(line, env)
      if (found(stdout + stderr).length > 0) leaks.push(line)
    }
    for (const [at, words] of sample(await everyCommand(), 2).entries())
      for (const more of some(ways, at)) {
        const line = [...words, ...more]
        const { stdout, stderr } = await run(line, env)
        if (found(stdout + stderr).length > 0) leaks.push(line)
      }
    expect(leaks).toEqual([])
    expect(texts().filter(([, text]) => found(text).length > 0)).toEqual([])
  })

  it.each(Object.entries(manners).map(([name, answer], from) => ({ name, answer, from })))(
    'prints no secret in any command when the server $name',
    async ({ answer, from }) => {
      const server: Listener = await answering(answer)
      const far = {
        ...env,
        PROSPECT_BASE_URL: `http://127.0.0.1:${server.port}/api/v2`,
        HTTPS_PROXY: `http://user:${password}@127.0.0.1:1`,
      }
      const leaks: unknown[] = []
      const ways = [['--verbose'], ['--json', '--direct']]
      for (const [at, words] of sample(await everyCommand(), 10, from).entries())
        for (const more of some(ways, at)) {
          const line = [...words, ...more]
          const { stdout, stderr } = await run(line, far)
          if (found(stdout + stderr).length > 0) leaks.push(line)
        }
      await server.close()
      expect(leaks).toEqual([])
      expect(texts().filter(([name, text]) => name !== 'credentials.json' && found(text).length > 0)).toEqual(
        [],
      )
    },
  )
})
