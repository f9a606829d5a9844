import { describe, expect, it } from 'vitest'
import { ends, type Line, machine, wordsOf } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { isLong, tries } from '../../support/effort.js'
import { launch, prospect } from '../../support/processes.js'
import { csv, knownFrom, machines, paid, written } from './paying.js'

/** How a batch reaches the engine: in its own process, or through a server. */
const reaches = ['local', 'governed', 'direct'] as const
type Reach = (typeof reaches)[number]

const peopleCount = 260
const companyCount = tries(120, 400)

const filled = perFile(async () => {
  const first = await machines(companyCount, 1_000)
  const people = Array.from(
    { length: peopleCount },
    (_, at) => `Ada,Number ${at},c${at}.example,ada@c${at}.example\n`,
  )
  await first.fill('people', `first_name,last_name,company_domain,email\n${people.join('')}`)
  return { ...first, key: await first.newKey() }
})

/** A client that runs batches, and the engine that answers them. */
async function reached(how: Reach) {
  const owner = filled.copy()
  const client = how === 'local' ? owner : machine()
  const server = how === 'local' ? undefined : await owner.start('serve --port 0')
  const env: Record<string, string> = server
    ? { PROSPECT_BASE_URL: server.line, PROSPECT_API_KEY: filled.key }
    : {}
  const words = (line: Line) => [...wordsOf(line), ...(how === 'direct' ? ['--direct'] : [])]
  return {
    ...client,
    run: (line: Line) => client.run(words(line), { env }),
    /** Runs a command in a process and kills it after `writes` writes of the engine. */
    killed: async (writes: number, line: Line) => {
      const running = launch(prospect, words(line), client.home, { PROSPECT_HOME: client.home, ...env })
      const { nodeChildProcess } = running
      await written(owner.path('engine.db-wal'), writes, () => nodeChildProcess.exitCode === null)
      running.kill('SIGKILL')
      await running
    },
    /** Runs an `engine` command on the machine of the engine. */
    engine: <T>(line: string) => owner.json<T>(`engine ${line}`),
    charges: owner.charges,
    remove: async () => {
      await server?.stop()
      for (const one of [owner, client]) one.remove()
    },
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describe.each(reaches)('against the target %s', (how) => {
  const here = perTest(() => reached(how))

  // Requests with --direct differ from others only in the ledger of the client.
  const itUnlessDirect = it.runIf(isLong || how !== 'direct')
  const itOf = (...shown: readonly Reach[]) => it.runIf(isLong || shown.includes(how))

  const weekly = (credits: number) => here.engine(`members set me@localhost --weekly-limit ${credits}`)

  /** Runs into a budget, then the end of the balance, then of the week. Each allows `left` credits, of which `used` are spent. */
  const stopped = async (left: number, used: number, line: string) => {
    const partsSpent = async () => [sum(await here.charges()), paid(here.rows('out.csv.partial'))]
    await ends(here.run(`${line} --max-credits ${left}`), 12)
    expect(await partsSpent()).toEqual([used, used])
    await here.engine(`credits set ${left}`)
    await ends(here.run(line), 4)
    expect(await partsSpent()).toEqual([2 * used, 2 * used])
    await here.engine('credits set 5000')
    await weekly(sum(await here.charges()) + left)
    await ends(here.run(line), 5)
    expect(await partsSpent()).toEqual([3 * used, 3 * used])
    await weekly(100_000)
    await ends(here.run(line), 0)
  }

  const anew = '-o out.csv --max-age 0'
  const enrich = `accounts enrich --csv in.csv ${anew} --fail-on none`

  it('charges each found company once, and nothing for rows that are not found, duplicate or invalid', async () => {
    here.write('in.csv', csv([...knownFrom(30), 'nobody.example', '""', ...knownFrom(5)]))
    await ends(here.run(enrich), 0)
    const rows = here.rows('out.csv')
    expect(rows.map(({ _status }) => _status)).toEqual([
      ...Array(30).fill('found'),
      'not_found',
      'invalid',
      ...Array(5).fill('found'),
    ])
    expect([paid(rows), sum(await here.charges())]).toEqual([30, 30])
    expect(rows.at(-1)).toMatchObject({ name: rows[4]?.name, _source: 'duplicate' })
  })

  // In the process of the engine: test/cli/killed-batch.test.ts.
  itOf('governed')('resumes a killed run without losing a row or paying twice', async () => {
    here.write('in.csv', csv(knownFrom(companyCount)))
    for (const writes of isLong ? [3, 8] : [8]) await here.killed(writes, enrich)
    await ends(here.run(enrich), 0)
    const rows = here.rows('out.csv')
    expect(rows.map(({ domain }) => domain)).toEqual(knownFrom(companyCount))
    expect([paid(rows), (await here.charges()).length]).toEqual([companyCount, companyCount])
    expect(await here.engine('ledger verify')).toMatchObject({ ok: true })
  })

  itUnlessDirect(
    'stops with exit 12, 4 or 5 when the budget, balance or week is spent, and resumes afterwards',
    async () => {
      here.write('in.csv', csv(knownFrom(80)))
      await stopped(25, 25, enrich)
      expect([sum(await here.charges()), here.rows('out.csv').length]).toEqual([80, 80])
    },
  )

  it('waits for a rate limit', async () => {
    const rows = tries(25, 30)
    here.write('in.csv', csv(knownFrom(rows)))
    await ends(here.run('accounts headcount --csv in.csv -o out.csv'), 0)
    expect(here.rows('out.csv').map(({ _status }) => _status)).toEqual(Array(rows).fill('found'))
  })

  describe('waterfalls', () => {
    const find = `contacts waterfall --csv in.csv --enrichment-type email ${anew}`
    const person = (at: number, name = 'Ada') => `${name},Number ${at},c${at}.example`
    const people = (rows: readonly string[]) => `First name,Last name,Website\n${rows.join('\n')}\n`
    const jobs = () => here.engine<{ operation: string; total: number; state: string }[]>('jobs list')

    it('sends waterfall rows in bulk and joins the results to their rows', async () => {
      const rows = Array.from({ length: 205 }, (_, at) => person(at, at % 5 === 4 ? 'Nobody' : 'Ada'))
      here.write('in.csv', people([...rows, ...rows.slice(0, 3)]))
      await ends(here.run(`${find} --fail-on none`), 0)
      const written = here.rows('out.csv')
      expect(written.slice(0, 205).map(({ email }) => email)).toEqual(
        rows.map((_, at) => (at % 5 === 4 ? '' : `ada@c${at}.example`)),
      )
      expect(written.slice(205).map(({ _source }) => _source)).toEqual(Array(3).fill('duplicate'))
      expect([paid(written), sum(await here.charges())]).toEqual([164 * 3, 164 * 3])
      expect(written[0]).not.toHaveProperty('custom.prospect_row')
      const sent = (await jobs()).map(({ operation }) => operation)
      expect([sent.length, new Set(sent)]).toEqual([3, new Set(['contacts.bulk_enrich'])])
    })

    itOf('governed')('resumes a killed run of waterfalls without paying twice', async () => {
      here.write('in.csv', people(Array.from({ length: peopleCount }, (_, at) => person(at))))
      for (const writes of isLong ? [2, 4, 9] : [4]) await here.killed(writes, find)
      await ends(here.run(find), 0)
      const rows = here.rows('out.csv')
      expect(rows.map(({ email }) => email)).toEqual(rows.map((_, at) => `ada@c${at}.example`))
      expect([rows.length, paid(rows), sum(await here.charges())]).toEqual([260, 780, 780])
      expect(await jobs()).toHaveLength(3)
      const [run] = await here.json<unknown[]>('runs list')
      expect(run).toMatchObject({ status: 'finished', credits: 780 })
      expect(await here.engine('ledger verify')).toMatchObject({ ok: true })
    })

    itOf('local')(
      'spends as much as whole waterfalls allow, stops with exit 12, 4 or 5, and resumes',
      async () => {
        here.write('in.csv', people(Array.from({ length: 100 }, (_, at) => person(at))))
        await stopped(95, 93, find)
        expect([sum(await here.charges()), here.rows('out.csv').length]).toEqual([300, 100])
      },
    )
  })
})
