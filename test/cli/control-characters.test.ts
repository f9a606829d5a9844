import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { guardStreams } from '../../src/cli/context/io.js'
import examples from '../../src/cli/program/examples.json' with { type: 'json' }
import type { MappedCommand } from '../../src/cli/program/program.js'
import recorded from '../../src/reference/examples.json' with { type: 'json' }
import { formats } from '../../src/runs/output/formats.js'
import { answering as listening } from '../client/listeners.js'
import { answering, type Given, stockedMachine, streamsOf, wordsOf } from '../support/command.js'
import { perTest } from '../support/each.js'
import { sample, tries } from '../support/effort.js'
import { inTerminal } from '../support/terminal.js'

const here = perTest(stockedMachine)

/** One of each kind: escape sequences, C0, C1, deletion, marks of text direction and line separators. */
const attacks = (
  '\u001b[31m \u001b[1m \u001b[2J \u001b]0;title\u0007 ' +
  '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\ \u001bP0;1|17/ab\u001b\\ \u009b31m ' +
  '\u009d0;title\u009c \b \u007f \u0085 \u061c \u200e \u200f \u2028 \u2029 \u202a \u202e \u2066 \u2069'
).split(' ')
const hostile = `x${attacks.join('x')}x`

/** Everything that a terminal may obey, except ends of lines and tabs. */
const controls = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u

/** Returns a pattern of escape sequences with this end. */
const sequence = (end: string) => new RegExp(`\u001b\\[${end}`, 'g')

describe('control characters of data', () => {
  const caller = () => answering({ body: { name: hostile, [hostile]: [hostile] } })
  const enrich = async (options: string, given: Given = {}) => {
    here.write('in.csv', `domain,"${hostile}"\na.example,"${hostile}"\n`)
    const line = `accounts enrich --csv in.csv${options}`
    return here.run(line, { caller: caller(), ...given } as Given)
  }

  it.each(['', ' --format ndjson', ' --format json', ' --format tsv', ' --raw-csv'])(
    'do not reach a terminal from the rows of a batch%s',
    async (options) => {
      const { code, stdout, stderr } = await enrich(options, { terminal: true, columns: 0 })
      expect([code, controls.test(stdout), controls.test(stderr)]).toEqual([0, false, false])
      // A table cuts the text.
      expect(stdout).toContain(options === '' ? String.raw`x\u001b[31mx` : String.raw`x\u009b31mx`)
    },
  )

  it('reach a pipe unchanged in CSV', async () => {
    const { stdout } = await enrich(' --fields name')
    expect(stdout.split(hostile)).toHaveLength(4)
  })

  it.each(['json', 'ndjson'])('are escaped in the %s of a batch, which keeps its values', async (format) => {
    const { stdout } = await enrich(` --format ${format}`)
    expect(stdout).not.toMatch(controls)
    expect([JSON.parse(stdout)].flat()).toMatchObject([{ name: hostile, [hostile]: hostile }])
  })

  it('do not reach a terminal in a table with colours, which stay', async () => {
    const lists = { lists: [{ id: 'a', name: hostile }], [hostile]: hostile }
    const { stdout } = await here.run('lists list', {
      terminal: true,
      caller: answering({ body: lists }),
      env: { NO_COLOR: '' },
    } as Given)
    expect(stdout).toContain('\u001b[1mName\u001b[22m')
    expect(stdout).toContain(String.raw`x\u001b[1mx`)
    expect(stdout.replaceAll(sequence('(?:1|2|22)m'), '')).not.toMatch(controls)
  })

  it('do not reach a terminal in questions', async () => {
    here.write('in.csv', `"${hostile}",b\nx,1\n`)
    const { stderr } = await here.run('accounts enrich --csv in.csv', {
      typed: [
        ['Which one', '\r'],
        ['hold?', '\u0003'],
      ],
    })
    expect(stderr).toContain(String.raw`x\u001b[31mx\u001b[1mx`)
    // Questions move the cursor and have colours.
    expect(stderr.replaceAll(sequence('[\\d;?]*[A-Za-z]'), '')).not.toMatch(controls)
  })

  it('do not reach a terminal where a character is split between two writes', () => {
    const streams = streamsOf({ terminal: true })
    const { stdout } = guardStreams(streams)
    for (const byte of Buffer.from('東\u009b31m')) stdout.write(Buffer.from([byte]))
    expect(streams.stdout.text()).toBe(String.raw`東\u009b31m`)
  })

  it('do not reach a log of stderr', async () => {
    await here.run('init')
    for (const more of [[], ['--json'], ['--verbose']]) {
      const { stderr } = await here.run(['events', 'show', hostile, ...more])
      expect(stderr).toContain(String.raw`\u009b31m`)
      expect(stderr).not.toMatch(controls)
    }
  })
})

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs commands one after the other on the terminal of the process, each after a line with its number. */
const program = `
  const { EventEmitter } = require('node:events')
  const { readFileSync } = require('node:fs')
  const { Readable } = require('node:stream')
  const { main } = require(process.argv[1]).load(process.argv[2])
  const { stdout, stderr } = process
  const run = async () => {
    for (const [at, { argv, env, cwd, isWork }] of JSON.parse(readFileSync(process.argv[3], 'utf8')).entries()) {
      const signals = new EventEmitter()
      const isEndless = isWork || ['serve', 'dashboard', 'worker', 'listen'].includes(argv[0]) || argv.includes('--wait')
      signals.on('newListener', (name) => {
        // What its server answers at once is shown by then; what is never done, or runs until a signal, ends so.
        if (isEndless && name === 'SIGTERM') setTimeout(() => signals.emit('SIGTERM'), 50)
      })
      stdout.write('\\n@@ ' + at + '\\n')
      const code = await main(argv, { stdout, stderr, stdin: Readable.from([]), env, cwd, signals }, { sleep: async () => {} })
      stdout.write('\\n@@ exit ' + code + '\\n')
    }
  }
  run().catch((error) => stdout.write('@@ ' + error.stack))`

interface Line {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Whether the command starts work, for which it waits on a terminal. */
  readonly isWork?: boolean
}

/** Runs commands in a pseudo-terminal. Returns what each of them showed. */
async function shownBy(lines: readonly Line[]): Promise<readonly string[]> {
  here.write('lines.json', JSON.stringify(lines.map((line) => ({ ...line, cwd: here.home }))))
  const words = ['-e', program, `${root}bin/load.js`, `${root}dist`, here.path('lines.json')]
  const env = { ...process.env, NO_COLOR: '', FORCE_COLOR: '0' }
  const given = { cwd: here.home, env, timeoutMs: 300_000 }
  return (await inTerminal([process.execPath, ...words], given)).raw.split(/^@@ \d+\n/m).slice(1)
}

/** What the progress bar draws with: it hides the cursor and writes its line again. */
const drawing = sequence('(?:\\?(?:25|2026)[hl]|1G|[01]?K|1A)')

const parts = fc.oneof(
  fc.constantFrom(...attacks),
  fc.constantFrom('a', 'Ž', '東', ' ', '"', ','),
  fc.nat(0x9f).map((code) => String.fromCharCode(code || 1)),
)

const excerpts = new RegExp(`.{0,20}(?:${controls.source}).{0,20}`, 'u')

/** Generated text with control characters in it. */
const text = fc.array(parts, { minLength: 1, maxLength: 6 }).map((all) => `x${all.join('')}x`)

/** Returns a value with other texts, and with a field that nobody knows. */
const withTexts = (value: unknown, next: () => string): unknown =>
  typeof value === 'string'
    ? next()
    : Array.isArray(value)
      ? value.map((item) => withTexts(item, next))
      : typeof value === 'object' && value !== null
        ? Object.fromEntries([
            ...Object.entries(value).map(([name, inner]) => [name, withTexts(inner, next)]),
            [next(), next()],
          ])
        : value

/** What a server answers, by the first part of its address. */
const manners: Readonly<Record<string, (reply: unknown, next: () => string) => readonly [number, string]>> = {
  answers: (reply, next) => [200, JSON.stringify(withTexts(reply, next))],
  refuses: (_, next) => [422, JSON.stringify({ error: next(), code: next(), details: [next()] })],
  pays: (_, next) => [402, JSON.stringify({ error: next(), message: next() })],
  fails: (_, next) => [500, `<h1>${next()}</h1>`],
}

const routes = operations().map(({ id, method, path }) => ({
  method,
  path: new RegExp(`/api/v2${path.replaceAll(/:\w+|\{\w+\}/g, '[^/]+')}$`),
  reply: recorded.operations[id as keyof typeof recorded.operations].reply,
}))

/** Starts a server that answers with other texts wherever the API has one. */
const hostileServer = (next: () => string) =>
  listening((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    const [, manner = ''] = pathname.split('/')
    const route = routes.find(({ method, path }) => method === request.method && path.test(pathname))
    const [status, body] = (manners[manner] ?? (() => [404, '{}'] as const))(route?.reply ?? {}, next)
    response.writeHead(status, { 'content-type': 'application/json', 'x-note': '\u009b31m' }).end(body)
  })

/** Fills this machine with texts in every place that commands print. Returns the ids of what is there. */
async function fill(next: () => string, server: string) {
  const cell = () => `"${next().replaceAll('"', '""')}"`
  const headers = (names: readonly string[]) => [...names, cell()].join(',')
  const rows = (...columns: readonly (() => string)[]) =>
    [1, 2, 3].map(() => [...columns.map((column) => column()), cell()].join(',')).join('\n')
  const domain = () => `a${Math.abs(next().length)}.example`
  here.write('companies.csv', `${headers(['name', 'domain', 'industry'])}\n${rows(cell, domain, cell)}\n`)
  here.write(
    'people.csv',
    `${headers(['full_name', 'title', 'company_domain'])}\n${rows(cell, cell, domain)}\n`,
  )
  const file = `\u001b[31m${next().replaceAll(/[/\0]/g, '')}.csv`
  here.write(file, `${headers(['domain', 'name'])}\n${rows(domain, cell)}\n`)
  await here.run('data import companies companies.csv')
  await here.run('data import people people.csv')
  await here.run(`accounts enrich --csv ${file} -o ${file}.out.csv`)
  const companies = ['--companies', '{"domain":"a5.example"}']
  await here.run(['lists', 'create', '--name', next(), ...companies, '--webhook-url', `${server}/fails/hook`])
  await here.run(['personas', 'create', '--name', next(), '--job-titles', next()])
  const list = async (words: string) =>
    (JSON.parse((await here.run(`${words} --format json`)).stdout || '[]') as { id?: string }[])[0]?.id ?? '-'
  const { line, stop } = await here.start('listen --port 0 --format table')
  for (const id of ['msg_1', 'msg_\u009b31m'])
    await fetch(line, {
      method: 'POST',
      body: JSON.stringify(withTexts(recorded.events['lead_search.completed'], next)),
      headers: { 'webhook-id': id, 'x-note': '\u009b31m', 'content-type': 'application/json' },
    })
  const heard = await stop()
  return {
    file,
    hook: `${server}/answers/hook`,
    heard: heard.stdout + heard.stderr,
    run: await list('runs list'),
    job: await list('engine jobs list'),
    delivery: await list('engine deliveries list'),
    event: await list('events list'),
  }
}

type Filled = Awaited<ReturnType<typeof fill>>

/** Arguments with which a command prints data, where a text for each required one does not. */
const given: Readonly<Record<string, (filled: Filled, next: () => string) => readonly string[]>> = {
  'engine credits set': () => ['1000'],
  'engine keys create': () => ['--member', 'me@localhost'],
  'engine jobs show': ({ job }) => [job],
  'engine jobs retry': ({ job }) => [job],
  'engine deliveries show': ({ delivery }) => [delivery],
  'engine deliveries retry': ({ delivery }) => [delivery],
  'data import': () => ['companies', 'companies.csv'],
  'data export': () => ['people'],
  'data purge': () => ['--older-than', '400d'],
  'data forget': (_, next) => [next(), '--dry-run'],
  'config set': (_, next) => ['public_url', next()],
  'profiles add': (_, next) => [next(), '--base-url', next()],
  'runs show': ({ run }) => [run],
  'runs resume': ({ run }) => [run],
  'runs export': ({ run }) => [run],
  'events show': ({ event }) => [event],
  'events replay': ({ event, hook }) => [event, '--to', hook],
  'events forward': ({ hook }) => ['--to', hook],
  'events trigger': ({ hook }) => ['lead_search.failed', '--to', hook],
  'engine faults add': (_, next) => [next(), '--status', '503'],
  'providers order': (_, next) => ['email', next()],
  match: (_, next) => [next(), '--with', next()],
  api: () => ['GET', '/personas', '--include'],
  completion: () => ['bash'],
  serve: () => ['--port', '0'],
  listen: () => ['--port', '0'],
}

describe.skipIf(process.platform !== 'linux')('a pseudo-terminal (needs Linux)', () => {
  it('is shown no control character when it is the file of -o', async () => {
    here.write('in.csv', `domain,"${hostile}"\na.example,"${hostile}"\n`)
    const argv = ['accounts', 'enrich', '--csv', 'in.csv', '--fields', 'domain', '-o', '/dev/stdout']
    const [shown = ''] = await shownBy([{ argv, env: { PROSPECT_HOME: here.home, CI: '1' } }])
    expect(shown).toContain(String.raw`x\u009b31mx`)
    expect(shown.replaceAll(drawing, '')).not.toMatch(controls)
  })

  it('is shown no control character of a server, a file, an event or an argument by any command', async () => {
    const map = JSON.parse((await here.run('commands --json')).stdout) as MappedCommand[]
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const texts = fc.sample(text, { seed, numRuns: 2_000 })
        let used = seed
        const next = () => texts[used++ % texts.length] as string
        const server = await hostileServer(next)
        const filled = await fill(next, `http://127.0.0.1:${server.port}`)
        const local = { PROSPECT_HOME: here.home, CI: '1', NO_COLOR: '1' }
        const far = (manner: string) => ({
          ...local,
          PROSPECT_API_KEY: 'pk_Canary0Canary0Canary0Canary0Canary0Ca',
          PROSPECT_BASE_URL: `http://127.0.0.1:${server.port}/${manner}/api/v2`,
        })
        const all: Line[] = [
          ...map.flatMap(({ command, operation, arguments: wanted }, at) => {
            const example = operation && examples[operation as keyof typeof examples][0]
            const env = far('answers')
            const words = command.split(' ')
            const argv = example
              ? wordsOf(example.replace(/ -o \S+/, ''))
              : [
                  ...words,
                  ...(given[command]?.(filled, next) ?? wanted.filter(({ required }) => required).map(next)),
                ]
            const others = [
              ...formats.map((format) => ({
                argv: [...argv, '--format', format],
                env: example ? env : local,
              })),
              ...['refuses', 'pays', 'fails'].map((manner) => ({ argv, env: far(manner) })),
              { argv: [...words, ...wanted.map(next), `--${next()}`], env },
            ]
            const isWork = operations().some(({ id, starts }) => id === operation && starts !== undefined)
            return [
              { argv, env: example ? env : local, isWork },
              { ...(others[(at + seed) % others.length] ?? { argv, env }), isWork },
            ]
          }),
          ...['', '--dry-run', '--format=json'].map((option) => ({
            argv: ['accounts', 'enrich', '--csv', filled.file, '--fresh', ...(option ? [option] : [])],
            env: far('answers'),
          })),
        ]
        const lines = sample(all, 3, seed)
        const shown = await shownBy(lines)
        await server.close()
        expect(shown.length).toBe(lines.length)
        const found = shown.map((one) => one.replaceAll(drawing, ''))
        const leaks = lines.map(({ argv }, at) => [argv, excerpts.exec(found[at] ?? '')?.[0]])
        expect(leaks.filter(([, leak]) => leak !== undefined)).toEqual([])
        expect(filled.heard).not.toMatch(controls)
      }),
      { numRuns: tries(1, 2), endOnFailure: true },
    )
  })
})
