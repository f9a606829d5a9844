import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, truncateSync } from 'node:fs'
import { open } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDoctor, type Doctor } from '../../../../src/cli/commands/doctor/context.js'
import { checks, runChecks } from '../../../../src/cli/commands/doctor/doctor.js'
import type { GlobalOptions } from '../../../../src/cli/context/context.js'
import { createContext } from '../../../../src/cli/target/create.js'
import { openEngineDatabase } from '../../../../src/engine/tables/schema.js'
import { answering, closeAfterTest, freePort } from '../../../client/listeners.js'
import { machine, streamsOf } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { casesOf } from '../../../support/fixtures.js'
import { freshSchema } from '../../../support/postgres.js'

const here = perTest(machine)

/** What a server says below a path. */
interface Answer {
  readonly status?: number
  readonly body?: object
  readonly date?: string
  readonly drops?: true
}

/** How the doctor looks, and what no command brings about. */
interface Given {
  readonly env?: Readonly<Record<string, string>>
  readonly options?: GlobalOptions
  readonly thorough?: boolean
  readonly behindMs?: number
  readonly uid?: number
  readonly fileSystem?: number
  readonly answers?: Readonly<Record<string, Answer>>
}

/** Returns the findings of a check as lines of status, text and hint. */
async function linesOf(name: string, given: Given = {}, changed: Partial<Doctor> = {}) {
  const streams = streamsOf({ env: { PROSPECT_HOME: here.home, ...given.env } })
  const now = given.answers ? Date.parse('2026-03-10T12:00:00Z') : Date.now() - (given.behindMs ?? 0)
  const context = createContext(streams, { clock: { now: () => now } })
  const doctor = { ...createDoctor(context, given.thorough === true), ...changed }
  const named = checks.filter((check) => check.name === name)
  expect(named).toHaveLength(1)
  const found = await runChecks(named, context.withGlobals(given.options ?? {}), doctor)
  await context.close()
  return found.checks.map(({ status, text, hint }) => [status, text, hint ?? ''].join(' | '))
}

function sql(file: string, statements: string): void {
  const database = new Database(here.path(file))
  database.exec(statements)
  database.close()
}

/** What happens to a machine, beside the commands that run on it. */
const events: Readonly<Record<string, (name: string, rest: string) => unknown>> = {
  sql,
  file: (name, text) => here.write(name, text, 0o600),
  fill: (kind, records) => here.fill(kind, records),
  mkdir: (name) => mkdirSync(here.path(name), { recursive: true, mode: 0o700 }),
  chmod: (mode, name) => chmodSync(here.path(name), Number.parseInt(mode, 8)),
  link: (from, to) => symlinkSync(here.path(from), here.path(to)),
  truncate: (name, size) => truncateSync(here.path(name), Number(size)),
  damage: async (name) => {
    const file = await open(here.path(name), 'r+')
    await file.write(Buffer.alloc(8_192, 0xa5), 0, 8_192, 4_096 * 2)
    await file.close()
  },
}

async function happens(event: string): Promise<void> {
  const [, word = '', name = '', rest = ''] = /^(\w+) ?(\S*) ?(.*)$/s.exec(event) ?? []
  await (events[word]?.(name, rest) ?? here.run(event))
}

/** Starts a server with these answers. Returns its origin. */
async function serving(answers: NonNullable<Given['answers']>): Promise<string> {
  const { origin } = closeAfterTest(
    await answering((request, response) => {
      const answer = answers[request.url ?? ''] ?? {}
      if (answer.drops) return void response.destroy()
      const date = answer.date ?? 'Tue, 10 Mar 2026 12:00:03 GMT'
      response.writeHead(answer.status ?? 200, { date, 'content-type': 'application/json' })
      response.end(JSON.stringify(answer.body ?? {}))
    }),
  )
  return origin
}

/** Returns when the files of the home were changed. */
const files = () => readdirSync(here.home).map((name) => [name, statSync(here.path(name)).mtimeMs])

type Case = readonly [check: string, events: readonly string[], says: readonly string[], given?: Given]
const cases = casesOf<Case>('cli/commands/doctor/findings').filter(
  ([name]) => name !== 'file system' || process.platform === 'linux',
)

describe('doctor', () => {
  it.for(cases)(
    '%s after %j says %j, no secret, and changes nothing',
    async ([name, events, says, given = {}]) => {
      for (const event of events) await happens(event)
      if (given.uid !== undefined) {
        const spy = vi.spyOn(process, 'getuid').mockReturnValue(given.uid)
        onTestFinished(() => spy.mockRestore())
      }
      const origin = given.answers ? await serving(given.answers) : ''
      const placed = (text: string) => text.replaceAll('{home}', here.home).replaceAll('{origin}', origin)
      const env = Object.entries(given.env ?? {}).map(([key, value]) => [key, placed(value)])
      const { fileSystem } = given
      const before = files()
      const lines = await linesOf(
        name,
        {
          ...given,
          env: Object.fromEntries(env),
          options: { ...given.options, ...(origin ? { baseUrl: `${origin}/api/v2` } : {}) },
        },
        fileSystem === undefined ? {} : { fileSystemType: () => fileSystem },
      )
      expect(lines).toEqual(says.map((pattern) => expect.stringMatching(new RegExp(placed(pattern)))))
      expect(lines.join()).not.toMatch(/hunter2|ada[:@]|Canary|secret-path|whsec_/)
      expect(files()).toEqual(before)
    },
  )

  it.runIf(process.platform === 'linux')(
    'asks for the nearest folder that is there, and says where a check fails',
    async () => {
      const fileSystemType = (folder: string) => {
        throw new Error(folder)
      }
      expect(
        await linesOf('file system', { env: { PROSPECT_HOME: here.path('a/b/c') } }, { fileSystemType }),
      ).toEqual([`problem | This could not be checked: ${here.home}. | `])
    },
  )
})

describe('doctor on a machine that is in use', () => {
  beforeEach(() => here.run('engine credits add 1'))

  it('checks a database without touching its log', async () => {
    const other = new Database(here.path('engine.db'))
    other.exec('CREATE TABLE more (x)')
    const before = here.read('engine.db-wal')
    expect(await linesOf('engine database')).toEqual([expect.stringMatching(/^ok /)])
    expect(here.read('engine.db-wal')).toBe(before)
    other.close()
  })

  it('checks a database on a server without changing it', async () => {
    const schema = await freshSchema()
    const look = (url: string) => linesOf('engine database', { env: { PROSPECT_DATABASE_URL: url } })
    expect(await look(schema.url)).toEqual([
      expect.stringMatching(/^warning .*on a server, and has no tables/),
    ])
    expect(await schema.sql('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()')).toEqual([])
    await (await openEngineDatabase(schema.url)).close()
    expect(await look(schema.url)).toEqual([
      expect.stringMatching(/^ok .*on a server, and has schema version/),
    ])
    const readOnly = `${schema.url}${encodeURIComponent(' -c default_transaction_read_only=on')}`
    expect(await look(readOnly)).toEqual([
      expect.stringMatching(
        /^problem \| The database is read-only: its setting default_transaction_read_only is on\. \| Give the/,
      ),
    ])
    await schema.sql('UPDATE schema_version SET version = 1099')
    expect(await look(schema.url)).toEqual([expect.stringMatching(/^problem .*newer than this program/)])
    await schema.drop()
  })

  it('calls the public URL to see whether it is down, leads elsewhere or leads here', async () => {
    const tunnel = async (url: string) => {
      await here.run(`config set public_url ${url}`)
      return linesOf('webhooks', { options: { baseUrl: 'https://api.example.com/api/v2' } })
    }
    expect(await tunnel(`http://127.0.0.1:${await freePort()}`)).toEqual([
      expect.stringMatching(/cannot be reached|in use/),
    ])
    const elsewhere = closeAfterTest(await answering((_, response) => response.writeHead(418).end()))
    expect(await tunnel(`${elsewhere.origin}/in`)).toEqual([expect.stringMatching(/answers 418|in use/)])
    const home = closeAfterTest(
      await answering(async (request, response) => {
        const headers = { host: request.headers.host ?? '' }
        const { status } = await fetch(`http://127.0.0.1:4011${request.url}`, { headers })
        response.writeHead(status).end()
      }),
    )
    expect(await tunnel(home.origin)).toEqual([expect.stringMatching(/leads to this machine|in use/)])
  })
})
