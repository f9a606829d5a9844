import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OperationId, operation, operations } from '../../src/api/operations/table.js'
import type { MappedCommand } from '../../src/cli/program/command-map.js'
import examples from '../../src/cli/program/examples.json' with { type: 'json' }
import { areas } from '../../src/cli/program/program.js'
import { answering, command, folder, keyed, removed } from '../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

/** Returns the words of a line as a shell splits them. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  )

const map = async (): Promise<MappedCommand[]> =>
  JSON.parse((await command(['commands', '--json'])).stdout) as MappedCommand[]

describe('prospect commands', () => {
  it('lists every operation with its price and options', async () => {
    const mapped = await map()
    expect(mapped.flatMap(({ operation }) => operation ?? [])).toEqual(operations().map(({ id }) => id))
    const enrich = mapped.find(({ operation }) => operation === 'accounts.enrich')
    expect(enrich).toMatchObject({
      command: 'accounts enrich',
      method: 'POST',
      path: '/accounts/single_enrich',
      price: '1 credit per company found; nothing found costs nothing.',
      idempotent: true,
    })
    expect(enrich?.options.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['--domain', '--no-live', '--csv', '--dry-run', '--format']),
    )
  })

  it('lists each command once', async () => {
    const names = (await map()).map(({ command: words, flag }) => `${words} ${flag ?? ''}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('never offers an API key as an option', async () => {
    const names = (await map()).flatMap(({ options }) => options.map(({ name }) => name))
    expect(names).not.toContain('--api-key')
  })

  it('prints a table on a terminal', async () => {
    const { stdout } = await command(['commands'], { terminal: true })
    expect(stdout).toMatch(/^Command +Flag +Summary +Price/)
  })
})

/** Every example with its operation. */
const lines = (Object.entries(examples) as [OperationId, readonly string[]][]).flatMap(([id, all]) =>
  all.map((line) => [id, line] as const),
)

describe('commands derived from operations', () => {
  it('every area of commands has a summary', () => {
    const used = new Set(operations().map(({ command: words }) => words.split(' ')[0]))
    expect([...used].sort()).toEqual(Object.keys(areas).sort())
  })

  it('no two fields of a command share an option', async () => {
    for (const { command: words, options } of await map()) {
      const names = options.map(({ name }) => name)
      expect([words, names.length]).toEqual([words, new Set(names).size])
    }
  })

  it.each(lines.filter(([, line]) => !/ --(wait|csv)\b/.test(line)))(
    'the example of %s calls that operation: %s',
    async (id, line) => {
      const bodies: Readonly<Record<string, object>> = {
        'credits.show': {
          credits: { enrichment: 1_000, daily_profile_scraping: 500 },
          limits: { daily_profile_scraping: 500 },
        },
        'credits.consumption': { credits_consumed: 0 },
      }
      const caller = answering({ body: bodies[id] ?? { id: 'x', email: 'x@example.com' } })
      const input = JSON.stringify({ name: 'x' })
      const argv = wordsOf(line).map((word) => (word.endsWith('.json') ? '-' : word))
      const ended = await command(argv, { env: keyed(home), caller, stdin: input, cwd: home })
      expect([ended.code, ended.stderr, caller.asked.map((asked) => asked.id)]).toEqual([0, '', [id]])
    },
  )

  it.each(lines.filter(([, line]) => / --wait\b/.test(line)))(
    'the --wait example of %s uses that operation: %s',
    async (id, line) => {
      const { path } = operation(id)
      await writeFile(join(home, 'companies.csv'), 'name\nAcme\n')
      const argv = [
        ...wordsOf(line).map((word) => (word.endsWith('.json') ? '-' : word)),
        '--dry-run',
        '-o',
        '-',
      ]
      // A file is quoted: its rows are counted and the balance is read. No request is shown.
      const isFile = / --csv\b/.test(line)
      const given = { env: keyed(home), stdin: '{"contacts":[]}', cwd: home }
      const ended = await command(argv, { ...given, ...(isFile ? { caller: answering({}) } : {}) })
      const shown = isFile ? { rows: 1, lookups: 1 } : { path }
      expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([0, shown])
    },
  )

  it.each(lines.filter(([, line]) => / --csv\b/.test(line) && !/ --wait\b/.test(line)))(
    'the --csv example of %s calls the operation for each row: %s',
    async (id, line) => {
      await writeFile(join(home, 'people.csv'), 'first name,last name,domain\nAda,Byron,example.com\n')
      const caller = answering({ body: { email: 'ada@example.com' } })
      const ended = await command(wordsOf(line), { env: keyed(home), caller, cwd: home })
      const { through } = operation(id).batch ?? {}
      const row = operations().find(
        ({ command: words, flag }) => words === operation(id).command && flag === through,
      )
      expect([ended.code, caller.asked.map((asked) => asked.id)]).toEqual([0, [row?.id]])
    },
  )
})
