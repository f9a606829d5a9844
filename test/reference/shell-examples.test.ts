import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command, type Machine, machine, type StartedCommand } from '../support/command.js'
import { isLong } from '../support/effort.js'
import { makeFolder } from '../support/new-folder.js'
import { freshSchema, type TestDatabase } from '../support/postgres.js'
import { prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'
import { type ExampleLine, examplesOf, wordsOf } from '../support/shell-examples.js'

const root = join(import.meta.dirname, '..', '..')
const below = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name)))
const docs = readdirSync(join(root, 'docs')).map((name) => join('docs', name))
const pages = ['README.md', ...docs, ...below('docs/skills')].filter(
  (path) => path.endsWith('.md') && !/docs.(architecture|performance)\.md$/.test(path),
)

/** Files that pages name: a copy of an example, or their text. */
const companies = { copyOf: 'companies.csv' }
const crm =
  'Company,Corporate site,headcount\nAtelier,atelier-lumiere.example,38\nAcme,www.acme-robotics.example,\n'
const files: Readonly<Record<string, string | { copyOf: string }>> = {
  'companies.csv': companies,
  'new.csv': companies,
  'people.csv': { copyOf: 'people.csv' },
  'crm.csv': crm,
  'crm-june.csv': crm.replace('headcount', 'Employees'),
  'do-not-contact.csv': 'Email\njo@acme-robotics.example\n',
  'my-companies.csv': 'Name,Website\nHarbour Mill,harbour-mill.example\n',
  'contacts.csv': 'Name,Email\nJo Day,jo@acme-robotics.example\nJoan Day,not-an-address\n',
}

/** Ids that pages invent, and the command that lists those of a reader. */
const inventedIds = {
  '7f6f2d0e': ['runs', 'list', '--format', 'ids'],
  msg_2f1f7c7e: ['events', 'list', '--format', 'ids'],
}

/** Commands that run until a signal. */
const servers = new Set(['serve', 'listen', 'worker'])

/** What a command prints that found nothing. */
const findsNothing = /"total(_count)?": 0|\b0 found(?! · \d+ skipped · )|^\[\]$/

/** Lines that print nothing. */
const isSilent = /--quiet|>|^(?!prospect )/

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const sharedDatabase = 'postgres://prospect@db.example/prospect'

let sample: string
let database: TestDatabase
let vendor: Machine
let started: StartedCommand
let key: string

beforeAll(async () => {
  sample = makeFolder()
  await loadSample(join(sample, 'home'))
  mkdirSync(join(sample, 'docs'))
  cpSync(join(root, 'docs', 'examples'), join(sample, 'docs', 'examples'), { recursive: true })
  for (const [name, file] of Object.entries(files))
    if (typeof file === 'string') writeFileSync(join(sample, name), file)
    else cpSync(join(root, 'docs', 'examples', file.copyOf), join(sample, name))
  mkdirSync(join(sample, 'bin'))
  const start = `#!/bin/sh\nexec '${process.execPath}' '${prospect}' "$@"\n`
  writeFileSync(join(sample, 'bin', 'prospect'), start, { mode: 0o755 })
  database = await freshSchema()
  vendor = machine()
  cpSync(join(sample, 'home'), vendor.home, { recursive: true })
  ;({ key } = await vendor.json<{ key: string }>('engine', 'keys', 'create', '--member', 'me@localhost'))
  writeFileSync(join(sample, 'key.txt'), key, { mode: 0o600 })
  started = await vendor.start(['serve', '--port', '0'])
})
afterAll(async () => {
  await started?.stop()
  vendor?.remove()
  await database?.drop()
  rmSync(sample, { recursive: true })
})

/** Somebody who types the examples of a page, from the first to the last, in a folder and a home of their own. */
class Reader {
  readonly #folder = makeFolder()
  readonly #env: Record<string, string> = {
    PROSPECT_HOME: join(this.#folder, 'home'),
    PATH: `${join(this.#folder, 'bin')}:${process.env.PATH}`,
  }

  #receiver: StartedCommand | undefined

  constructor() {
    cpSync(sample, this.#folder, { recursive: true })
    chmodSync(this.#env.PROSPECT_HOME as string, 0o700)
  }

  /** Types a line. Returns what is wrong with it; also that it does not print what a page shows. */
  async follow({ text, exitCode }: ExampleLine, result?: string): Promise<string | undefined> {
    if (/^(npm|alias) /.test(text)) return undefined
    const line = await this.#adapt(text)
    const { code, stdout, stderr } = await this.run(line, result !== undefined)
    if (code !== exitCode) return `${text}\nexits with ${code}: ${stderr}`
    if (result !== undefined)
      return inOneLine(stderr + stdout) === inOneLine(result)
        ? undefined
        : `${text}\nprints ${stderr}${stdout}`
    if (code !== 0 || isSilent.test(line)) return undefined
    const [, output] = / -o (\S+)/.exec(line) ?? []
    const isEmpty = output !== undefined && statSync(join(this.#folder, output)).size === 0
    return isEmpty || findsNothing.test(stdout || stderr)
      ? `${text}\nfinds nothing: ${stdout || stderr}`
      : undefined
  }

  /** Returns a line with the addresses, folders and ids of this reader. */
  async #adapt(text: string): Promise<string> {
    let line = text
      .replaceAll('https://api.example.com/api/v2', started.line)
      .replaceAll('/srv/crm', this.#folder)
    const [receiver, path] = /http:\/\/127\.0\.0\.1:4011\/hooks\/([\w-]+)/.exec(line) ?? []
    if (receiver && path) line = line.replace(receiver, await this.#receive(path))
    for (const [id, argv] of Object.entries(inventedIds))
      if (line.includes(id))
        line = line.replaceAll(id, (await this.#prospect(argv)).stdout.split('\n')[0] ?? '')
    return line
  }

  async run(line: string, terminal = false): Promise<Ended> {
    const [program, ...argv] = wordsOf(line)?.map((word) => word.replace(sharedDatabase, database.url)) ?? []
    if (program === 'export') {
      for (const [name, value = ''] of argv.map((word) => word.split(/=(.*)/s)))
        this.#env[name as string] = value
      return { code: 0, stdout: line, stderr: '' }
    }
    return program === 'prospect' ? this.#prospect(argv, terminal) : this.#shell(line)
  }

  /** Returns the address of a receiver, which a page says to start in another terminal. */
  async #receive(path: string): Promise<string> {
    const home = join(this.#folder, this.#env.PROSPECT_HOME ?? '')
    const argv = ['listen', '--port', '0', '--path', path, '--json']
    this.#receiver ??= await machine(home).start(argv)
    return (JSON.parse(this.#receiver.line) as { url: string }).url
  }

  async #prospect(argv: readonly string[], terminal = false): Promise<Ended> {
    // To load it takes seconds, so a home gets a copy, unless the page shows what this prints.
    if (!terminal && /^data sample(?: --quiet)?$/.test(argv.join(' '))) {
      const home = resolve(this.#folder, this.#env.PROSPECT_HOME as string)
      if (!existsSync(join(home, 'catalogue.db'))) await loadSample(home)
      return { code: 0, stdout: 'The sample is there.', stderr: '' }
    }
    const signals = new EventEmitter()
    const stop = () => void signals.emit('SIGTERM')
    const isServer = servers.has(argv[0] ?? '')
    return command(argv, {
      env: this.#env,
      cwd: this.#folder,
      ...(terminal ? { terminal, columns: 100 } : {}),
      signals: signals as unknown as NodeJS.Process,
      ...(isServer
        ? { onOutput: stop, onErrorOutput: (text: string) => text.includes('Working') && stop() }
        : {}),
      ...(argv[0] === 'login' && !argv.includes('--api-key-stdin')
        ? { typed: [['key', `${key}\r`] as const, ['from now on', 'n\r'] as const] }
        : {}),
    })
  }

  #shell(script: string): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { cwd: this.#folder, env: this.#env }
      execFile('sh', ['-c', script], options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      )
    })
  }

  async leave(): Promise<void> {
    await this.#receiver?.stop()
    rmSync(this.#folder, { recursive: true })
  }
}

const inOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const examples = pages
  .map((page) => ({
    page,
    examples: examplesOf(join(root, page)).filter(({ notRun }) => notRun === undefined),
  }))
  .filter(({ examples }) => examples.length > 0)

describe.each(examples)('$page', ({ examples }) => {
  it('shows commands that do what it says, and find something over the sample data', async () => {
    const problems: string[] = []
    // A result that a page prints comes each time.
    const readers = isLong && examples.some(({ result }) => result !== undefined) ? 2 : 1
    for (let at = 0; at < readers; at++) {
      const reader = new Reader()
      try {
        for (const { lines, result } of examples)
          for (const line of lines) {
            const problem = await reader.follow(line, line === lines.at(-1) ? result : undefined)
            if (problem) problems.push(problem)
          }
      } finally {
        await reader.leave()
      }
    }
    expect(problems.join('\n\n')).toBe('')
  })
})

it('README.md has at most 120 lines, and shows the summary that its first command prints', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  const reader = new Reader()
  const { stderr } = await reader.run(/^\$ (prospect .*)$/m.exec(readme)?.[1] ?? '')
  await reader.leave()
  const [, summary = `no summary: ${stderr}`] = /^30 rows in .*?: (.*)$/m.exec(stderr) ?? []
  expect(readme).toContain(summary)
})
