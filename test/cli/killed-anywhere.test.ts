import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../client/listeners.js'
import { ends, type Machine, machine } from '../support/command.js'
import { isLong, tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { places, sqlitePlace } from '../support/places.js'
import { launch, launchServer, prospect } from '../support/processes.js'
import { servingMachine } from './call/serving.js'

/** What is counted to place a kill: it comes once there is more of it, by a number chosen at random. */
type Points = Record<string, readonly [what: 'engine' | 'state', from: string]>

const points: Points = {
  claim: ['state', 'lookups'],
  send: ['state', 'lookups WHERE input IS NOT NULL OR answered_at IS NOT NULL'],
  accept: ['engine', 'enrichments'],
  answer: ['engine', "movements WHERE credit = 'spent'"],
  poll: ['state', "lookups WHERE state = 'accepted' OR answered_at IS NOT NULL"],
  settle: ['state', 'lookups WHERE answered_at IS NOT NULL'],
}

/** Those of a command that waits for accepted work itself. */
const pointsOfWait: Points = {
  accept: ['engine', 'enrichments'],
  poll: ['engine', "jobs WHERE state <> 'queued'"],
  answer: ['engine', "jobs WHERE state = 'finished'"],
}

interface Shape {
  readonly points: Points
  /** Credits of a row. */
  readonly price: number
  /** How many rows a command asks for at once. */
  readonly rows: number
  /** Writes what a command needs to look up these rows, and returns its words. */
  readonly command: (here: Machine, name: string, rows: readonly number[], at: string) => string
}

const csv = (here: Machine, name: string, rows: readonly number[]) =>
  here.write(
    `${name}.csv`,
    `first_name,last_name,domain\n${rows.map((row) => `Ann,Lee${row},company-${row}.example\n`).join('')}`,
  )

const fileOf =
  (words: string): Shape['command'] =>
  (here, name, rows, at) => {
    csv(here, name, rows)
    return `${words} --csv ${name}.csv -o ${name}-out.csv --quiet --yes${at}`
  }

const { accept: _accept, poll: _poll, ...immediate } = points
const { settle: _settle, ...beforeItsEnd } = immediate
const waterfall = 'contacts waterfall --enrichment-type email'
const single =
  (how: string): Shape['command'] =>
  (_, __, [row]) =>
    `${waterfall} --first-name Ann --last-name Lee${row} --domain company-${row}.example ${how} --quiet --yes`

const shapes: Record<string, Shape> = {
  'a batch': { points: immediate, price: 1, rows: 60, command: fileOf('accounts enrich') },
  'a batch of bulk requests': { price: 3, points, rows: 60, command: fileOf(waterfall) },
  'a waterfall': {
    price: 3,
    points: pointsOfWait,
    rows: 1,
    command: single('--wait'),
  },
  'a waterfall that answers at once': {
    points: beforeItsEnd,
    price: 3,
    rows: 1,
    command: single('--sync'),
  },
  'a flow': {
    points: immediate,
    price: 4,
    rows: 60,
    command: (here, name, rows, at) => {
      csv(here, name, rows)
      const steps = ['accounts.enrich', 'accounts.stack'].map((step) => `  - ${step}`)
      const file = [`name: ${name}`, `input: { csv: ${name}.csv }`, 'steps:', ...steps]
      here.write(
        `${name}.yaml`,
        `${file.join('\n')}\noutput: { csv: ${name}-out.csv, columns: [input.domain] }\n`,
      )
      return `flow run ${name}.yaml --quiet --yes${at}`
    },
  },
}

/** What the tables of runs must not have, whenever they are read. */
const contradictions = [
  `runs r WHERE coalesce((SELECT held FROM budgets WHERE scope = 'run ' || r.number), 0)
    <> (SELECT coalesce(sum(held), 0) FROM lookups WHERE run = r.number)`,
  `runs r WHERE r.total > 0 AND coalesce((SELECT spent FROM budgets WHERE scope = 'run ' || r.number), 0)
    <> (SELECT coalesce(sum(cost), 0) FROM lookups WHERE run = r.number)`,
  `runs r WHERE r.total > 0 AND (SELECT coalesce(sum(credits), 0) FROM spending WHERE run = r.number)
    <> (SELECT coalesce(sum(cost), 0) FROM lookups WHERE run = r.number)`,
  `lookups WHERE state IN ('asked', 'accepted') AND (answered_at IS NOT NULL OR cost > 0)`,
  `lookups WHERE state = 'found' AND (body IS NULL AND from_run IS NULL OR answered_at IS NULL)`,
  `lookups l WHERE state = 'accepted' AND work IS NULL`,
]
const recorded = '(SELECT coalesce(sum(credits), 0) FROM spending)'
const held = '(SELECT coalesce(sum(held), 0) FROM lookups)'
const charged = "(SELECT coalesce(sum(amount), 0) FROM movements WHERE credit = 'spent')"

/** Fills a machine with a company and a person for each row. */
async function fill(
  here: Machine,
  rows: number,
  isSlow: boolean,
  given: { readonly env: Record<string, string> },
) {
  await here.setUp(given)
  await ends(here.run('engine credits add 100000', given), 0)
  const all = Array.from({ length: rows }, (_, row) => row)
  const stdin = (header: string, line: (row: number) => string) => ({
    ...given,
    stdin: [header, ...all.map(line), ''].join('\n'),
  })
  const companies = stdin('name,domain,technologies', (row) => `Company ${row},company-${row}.example,react`)
  await ends(here.run('data import companies -', companies), 0)
  const people = stdin(
    'first_name,last_name,company_domain,email',
    (row) => `Ann,Lee${row},company-${row}.example,ann@company-${row}.example`,
  )
  await ends(here.run('data import people -', people), 0)
  // So that a kill comes in between.
  if (isSlow) await ends(here.run('engine faults add all --delay 0.1s', given), 0)
}

const cases = Object.keys(shapes).flatMap((shape) =>
  ['this machine', 'a governed proxy'].flatMap((through) =>
    // A flow is a chain of runs: to a proxy it is a batch.
    through === 'a governed proxy' && shape === 'a flow'
      ? []
      : Object.keys(places).map((database) => [shape, through, database] as const),
  ),
)
const few = new Set([
  'a batch of bulk requests|this machine|SQLite',
  'a waterfall|this machine|SQLite',
  'a batch|a governed proxy|SQLite',
])

it.each(isLong ? cases : cases.filter((one) => few.has(one.join('|'))))(
  'pays once for each lookup, loses none, and has on record what happened, wherever %s at %s over %s is killed',
  async (kind, through, database) => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const note = `PROSPECT_TEST_SEED=${seed}`
    const pick = random(seed)
    const shape = shapes[kind] as Shape
    const kills = tries(3, Number(process.env.PROSPECT_TEST_KILLS ?? 30))
    const isSingle = shape.rows === 1
    const step = Math.ceil(shape.rows / 3)
    // The rows of a command that ended before its kill are answered for: each takes further ones.
    const mostAttempts = 4 * kills
    const rows = step * (mostAttempts - 1) + shape.rows
    const here = machine()
    onTestFinished(here.remove)
    const place = await (places[database] as (typeof places)[string])(here, onTestFinished)
    const isProxied = through === 'a governed proxy'
    const { env } = place
    if (!isProxied) await fill(here, rows, isSingle, { env })
    const there = isProxied
      ? await servingMachine((one) => fill(one, rows, isSingle, { env: {} }))
      : undefined
    if (there) onTestFinished(there.close)
    const engine = there ? sqlitePlace(there.machine) : place
    const before = await (there?.machine ?? here).balance(there ? {} : { env })

    // The one that looks up: this machine, or one whose server is the proxy.
    const client = there ? machine() : here
    if (there) onTestFinished(client.remove)
    const port = String(await freePort())
    // What single commands have done, and what a proxy has spent, is on record on their own machine.
    const home = sqlitePlace(here)
    const own = there ? sqlitePlace(client) : isSingle ? home : place
    // Servers that share a database have accepted work on record there.
    const ledgers = there && database !== 'SQLite' ? [home, place] : [there || isSingle ? home : place]
    const key = there && (await here.newKey('me@localhost', { env }))
    const target: Record<string, string> = there
      ? { PROSPECT_BASE_URL: `http://127.0.0.1:${port}/api/v2`, PROSPECT_API_KEY: String(key) }
      : env
    const serve = () => {
      const upstream = { PROSPECT_HOME: here.home, PROSPECT_API_KEY: there?.key ?? '', ...env }
      const argv = ['serve', '--port', port, '--upstream', there?.baseUrl ?? '']
      return launchServer(prospect, argv, here.home, upstream)
    }
    let proxy = there && (await serve())
    onTestFinished(async () => void (await proxy?.stop()))

    const check = async (when: string) => {
      for (const one of new Set([own, place, home])) {
        for (const from of contradictions)
          expect([await one.count('state', from), from, when, note]).toEqual([0, from, when, note])
      }
      const paid = await engine.value('engine', charged)
      const known = await own.value('state', recorded)
      const most = known + (await own.value('state', held))
      const after = await engine.value('engine', charged)
      expect([known <= after, known, after, when, note]).toEqual([true, known, after, when, note])
      // A single lookup holds nothing without a budget.
      if (shape.rows > 1)
        expect([paid <= most, paid, most, when, note]).toEqual([true, paid, most, when, note])
    }

    const names = Object.keys(shape.points)
    let killed = 0
    let attempt = 0
    for (; killed < kills; attempt++) {
      if (attempt === mostAttempts) throw new Error(`only ${killed} kills (${note})`)
      const from = attempt * step
      const some = Array.from({ length: shape.rows }, (_, at) => from + at).filter(
        () => isSingle || pick(4) > 0,
      )
      for (let row = some.length - 1; row > 0; row--) some.push(...some.splice(pick(row + 1), 1))
      const line = shape.command(client, `file-${attempt}`, some, there || isSingle ? '' : place.at)
      const isServer = there !== undefined && pick(2) === 0
      const name = names[pick(names.length)] as string
      const [what, counted] = shape.points[name] as Points[string]
      const where = what === 'engine' ? engine : isServer ? place : own
      const most = (await where.count(what, counted)) + 1 + pick(Math.ceil(some.length / 2))
      const looking = launch(prospect, line.split(' '), client.home, {
        PROSPECT_HOME: client.home,
        ...target,
      })
      let isOver = false
      void looking.then(() => {
        isOver = true
      })
      await where.until(what, counted, most, () => isOver)
      // Anywhere in what comes after that.
      await pause(pick(isSingle ? 2 : 20))
      if (isServer && proxy) {
        proxy.server.kill('SIGKILL')
        await proxy.server
        if (!isOver) killed++
        await place.expire().catch(() => {})
        proxy = await serve()
        // The client goes on meanwhile. It gives up rows, or says of some that their outcome is unknown.
        const { exitCode, stderr } = await looking
        expect([[1, undefined].includes(exitCode), stderr, name, note]).toEqual([false, stderr, name, note])
      } else {
        looking.kill('SIGKILL')
        if ((await looking).signal === 'SIGKILL') killed++
        if (!there) await place.expire().catch(() => {})
      }
      await check(`${isServer ? 'the proxy' : 'the command'} was killed at ${name}, attempt ${attempt}`)
    }

    const all = Array.from({ length: step * (attempt - 1) + shape.rows }, (_, row) => row)
    const lines = isSingle
      ? all.map((row) => shape.command(client, 'all', [row], there || isSingle ? '' : place.at))
      : [
          `${shape.command(client, 'all', all, there || isSingle ? '' : place.at)}${there ? ' --retry-unknown' : ''}`,
        ]
    for (const line of lines) {
      const { exitCode, stderr } = await launch(prospect, line.split(' '), client.home, {
        PROSPECT_HOME: client.home,
        ...target,
      })
      expect([exitCode, stderr, line, note]).toEqual([0, stderr, line, note])
    }
    if (!isSingle) expect(client.rows('all-out.csv')).toHaveLength(all.length)
    await check('all has ended')
    const cost = shape.price * all.length
    const spent = before - (await (there?.machine ?? here).balance(there ? {} : { env }))
    expect([spent, await own.value('state', recorded), note]).toEqual([cost, cost, note])
    let onRecord = 0
    for (const one of ledgers) onRecord += await one.value('state', recorded)
    expect([onRecord, note]).toEqual([cost, note])
    expect([await own.value('state', held), await place.value('state', held), note]).toEqual([0, 0, note])
    process.stderr.write(`${kind}, ${through}, ${database}: ${killed} kills\n`)
  },
  1_800_000,
)
