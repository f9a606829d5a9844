import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type CommandResult, ends, type Given, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { places } from '../support/places.js'
import { launch, prospect } from '../support/processes.js'
import { servingMachine } from './call/serving.js'

/** As many as are sent before the first answer. */
const rows = 5
const companies = Array.from({ length: rows + 1 }, (_, at) => `Company ${at},company-${at}.example`)
const people = Array.from(
  { length: rows },
  (_, at) => `Ann,Lee${at},company-${at}.example,ann@company-${at}.example`,
)

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const here = perTest(machine)

describe.each(Object.keys(places))('a run that was killed and that nobody resumes: %s', (kind) => {
  /** Kills a batch whose rows are all under way, once they have been answered or before. Returns what asks about it. */
  async function killed(line: string, when: 'answered' | 'not answered', replies: number) {
    const place = await (places[kind] as (typeof places)[string])(here, (close) => void closing.push(close))
    const given = { env: place.env }
    await here.setUp(given)
    const csv = (header: string, lines: readonly string[]) => ({
      ...given,
      stdin: `${header}\n${lines.join('\n')}\n`,
    })
    await ends(here.run('data import companies -', csv('name,domain', companies)), 0)
    await ends(here.run('data import people -', csv('first_name,last_name,company_domain,email', people)), 0)
    here.write('in.csv', `first_name,last_name,domain\n${people.join('\n')}\n`.replace(/,[^,]*@.*$/gm, ''))
    const before = await here.balance(given)
    await ends(here.run(`${line} --csv in.csv --dry-run${place.at}`, given), 0)
    const release = await place.hold('engine')
    const argv = [...`${line} --csv in.csv -o out.csv --quiet${place.at}`.split(' ')]
    const batch = launch(prospect, argv, here.home, { PROSPECT_HOME: here.home, ...place.env })
    // What is sent is recorded behind the claim, where several rows are sent as one request.
    const sent = `lookups WHERE state = 'asked' AND input IS NOT NULL`
    await expect.poll(() => place.count('state', sent)).toBe(rows)
    if (when === 'answered') {
      const open = await place.hold('state')
      await release()
      await expect.poll(() => place.count('engine', 'run_replies')).toBe(replies)
      batch.kill('SIGKILL')
      await batch
      await open()
    } else {
      batch.kill('SIGKILL')
      await batch
      await release()
    }
    await place.expire()
    const states = async () => {
      const counts = await here.run(`runs show --last --state --json${place.at}`, given)
      return Object.fromEntries(
        (counts.json as Record<string, never>[]).map(({ state, lookups, held, cost }) => [
          state,
          [lookups, held, cost],
        ]),
      )
    }
    const ledger = async () => (await here.run(`ledger check --json${place.at}`, given)).json
    const next = (more: string) => here.run(`${more} --quiet${place.at}`, given)
    const paid = async () => before - (await here.balance(given))
    return { states, ledger, next, paid }
  }

  it.each([
    ['not answered', 0],
    ['answered', rows],
  ] as const)('has nothing held for rows that were %s', async (when, cost) => {
    const { states, ledger, next, paid } = await killed('accounts enrich', when, rows)
    expect(await states()).toEqual({ asked: [rows, rows, 0] })
    here.write('other.csv', `domain\ncompany-${rows}.example\n`)
    // What was held is not missing in the budget of the day.
    const other = `accounts enrich --csv other.csv -o other-out.csv --max-credits-per-day ${cost + 1}`
    await ends(next(other), 0)
    expect(await ledger()).toMatchObject({ ledger: cost + 1, target_says: cost + 1, open: 0, ok: true })
    await ends(next('accounts enrich --csv in.csv -o out.csv'), 0)
    expect(await paid()).toBe(rows + 1)
    expect(await ledger()).toMatchObject({ ledger: rows + 1, target_says: rows + 1, open: 0, ok: true })
    expect(here.rows('out.csv').filter(({ _status }) => _status === 'found')).toHaveLength(rows)
  })

  it.each(['not answered', 'answered'] as const)(
    'pays once for rows of a request for several that was %s, whoever asks for them next, in another order',
    async (when) => {
      const { ledger, next, paid } = await killed('contacts waterfall --enrichment-type email', when, 1)
      const [header, ...lines] = here.read('in.csv').trim().split('\n')
      here.write('other.csv', `${[header, ...lines.slice(1).reverse()].join('\n')}\n`)
      const waterfall = 'contacts waterfall --enrichment-type email --yes'
      await ends(next(`${waterfall} --csv other.csv -o other-out.csv`), 0)
      await ends(next(`${waterfall} --csv in.csv -o out.csv`), 0)
      const cost = 3 * rows
      expect(await paid()).toBe(cost)
      expect(await ledger()).toMatchObject({ ledger: cost, target_says: cost, open: 0, ok: true })
      const emails = (name: string) => here.rows(name).map(({ last_name, email }) => [last_name, email])
      expect(new Map(emails('other-out.csv') as never).size).toBe(rows - 1)
      for (const [name, email] of [...emails('out.csv'), ...emails('other-out.csv')])
        expect(email).toBe(`ann@company-${name?.slice('Lee'.length)}.example`)
    },
  )
})

describe('a run that was killed after a server had accepted rows together', () => {
  /** Passes requests on to a server, and calls `onBulk` before the answer to one for several rows, which never comes. */
  async function passingOn(to: string, onBulk: () => void): Promise<string> {
    const server = createServer(async (request, answer) => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
      const headers = Object.fromEntries(
        ['x-api-key', 'idempotency-key', 'content-type'].flatMap((name) => {
          const value = request.headers[name]
          return typeof value === 'string' ? [[name, value]] : []
        }),
      )
      const { method = 'GET', url = '' } = request
      const reply = await fetch(new URL(url, to), { method, headers, ...(body.length > 0 ? { body } : {}) })
      const text = await reply.text()
      if (url.includes('bulk_enrich') && !isOver) {
        isOver = true
        onBulk()
      } else answer.writeHead(reply.status, { 'content-type': 'application/json' }).end(text)
    })
    let isOver = false
    server.listen(0, '127.0.0.1')
    closing.push(() => void server.close().closeAllConnections())
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`
  }
  const file = (name: string, ats: readonly number[]) => {
    const lines = ats.map((at) => `Ann,Lee${at},company-${at}.example`)
    here.write(`${name}.csv`, `first_name,last_name,domain\n${lines.join('\n')}\n`)
  }

  /** Kills a run of three rows before it hears that they were accepted. */
  async function killedBeforeAnswer() {
    const there = await servingMachine(async (one) => {
      await one.setUp()
      const stdin = ['first_name,last_name,company_domain,email', ...people, ''].join('\n')
      await one.run('data import people -', { stdin })
    })
    closing.push(there.close)
    let kill = () => {}
    const baseUrl = await passingOn(there.baseUrl, () => kill())
    const env = { PROSPECT_HOME: here.home, PROSPECT_API_KEY: there.key, PROSPECT_BASE_URL: baseUrl }
    const waterfall = (name: string) =>
      `contacts waterfall --enrichment-type email --csv ${name}.csv -o ${name}-out.csv --yes`
    const before = await there.machine.balance()
    file('in', [0, 1, 2])
    const batch = launch(prospect, waterfall('in').split(' '), here.home, env)
    kill = () => batch.kill('SIGKILL')
    expect((await batch).signal).toBe('SIGKILL')
    return {
      look: (name: string, more = '', given: Given = {}): Promise<CommandResult> =>
        here.run(`${waterfall(name)} ${more}`, { env, ...given }),
      paid: async () => before - (await there.machine.balance()),
      errors: (name: string) => here.rows(`${name}-out.csv`).map(({ _error }) => _error),
    }
  }

  it('does not have them paid for again by a run of other rows, which takes the answers once it was resumed', async () => {
    const { look, paid, errors } = await killedBeforeAnswer()
    file('other', [4, 2, 1, 3])
    await ends(look('other'), 11)
    expect(errors('other')).toEqual(['', 'outcome_unknown', 'outcome_unknown', ''])
    expect(here.rows('other-out.csv').map(({ _credits }) => _credits)).toEqual(['3', '0', '0', '3'])
    await ends(look('in'), 0)
    await ends(look('other', '--retry-unknown'), 0)
    expect(here.rows('other-out.csv').map(({ email }) => email)).toEqual(
      [4, 2, 1, 3].map((at) => `ann@company-${at}.example`),
    )
    expect(await paid()).toBe(3 * rows)
  })

  it('sends nothing again once the server may have forgotten the key, but where that is asked for', async () => {
    const { look, paid, errors } = await killedBeforeAnswer()
    const later = { clock: { now: () => Date.now() + 25 * 3_600_000 } }
    await ends(look('in', '', later), 11)
    expect(errors('in')).toEqual(['outcome_unknown', 'outcome_unknown', 'outcome_unknown'])
    expect(await here.json('runs show --last --state')).toMatchObject([
      { state: 'unknown', lookups: 3, held: 9 },
    ])
    await ends(look('in', '--retry-unknown', later), 0)
    expect(await paid()).toBe(9)
  })
})
