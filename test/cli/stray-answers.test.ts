import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { strayServer } from '../client/stray-server.js'
import { canary, machine } from '../support/command.js'
import { tries } from '../support/effort.js'
import { enrich, proxyOf } from './call/serving.js'

const seed = Number(process.env.PROSPECT_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const calls = tries(200, 500)

interface Summary {
  readonly exit_code: number
  readonly found: number
  readonly failed: number
  readonly suspect: Record<'discarded' | 'passed_on', { answers: number; rows: number[] }>
}

describe(`a server that sends surplus answers (seed ${seed})`, () => {
  it('never puts the company of another row into the output of a batch, which names the rows in doubt', async () => {
    const server = await strayServer({ seed, nth: 10 })
    const here = machine()
    onTestFinished(() => here.remove())
    const rows = Array.from({ length: calls }, (_, n) => `northwind${n}.example`)
    here.write('in.csv', `domain\n${rows.join('\n')}\n`)
    const argv = 'accounts enrich --csv in.csv -o out.csv --yes --summary-json s.json'
    const env = { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: canary }
    const { code, stderr } = await here.run(`${argv} --log log`, { env })
    const [, ...lines] = here.read('out.csv').trim().split(/\r?\n/)
    const answered = lines.filter((line) => line.includes('Company of'))
    const others = answered.filter((line) => !line.includes(`Company of ${line.split(',', 1)[0]}`))
    expect([others, lines.length]).toEqual([[], calls])
    const summary = JSON.parse(here.read('s.json')) as Summary
    const { discarded, passed_on } = summary.suspect
    expect([code, summary.failed, answered.length]).toEqual([11, discarded.answers, calls - summary.failed])
    expect(lines.filter((line) => line.includes('outcome_unknown'))).toHaveLength(summary.failed)
    expect(discarded.rows).toHaveLength(Math.min(50, discarded.answers))
    for (const row of discarded.rows) expect(lines[row - 1]).toContain('outcome_unknown')
    expect(passed_on.answers).toBeGreaterThan(0)
    expect(stderr).toMatch(/Suspect: [\d,]+ answers? (?:is|are) discarded .* \(rows? \d/)
    expect(stderr).toMatch(/Suspect: [\d,]+ answers? (?:is|are) in the output, .* \(rows? \d/)
    expect(here.read('log')).toContain('"passed_on":{"answers":')
    const spent = await here.run('ledger --by operation --json', { env })
    expect(spent.json).toMatchObject([{ operation: 'accounts.enrich', suspect: passed_on.answers }])
    expect((await here.run('ledger', { env, terminal: true, columns: 110 })).stdout).toContain('Suspect')
  })

  it('has the answers in doubt that a direct proxy passed on counted in its log', async () => {
    const server = await strayServer({ seed, nth: 10 })
    const here = await proxyOf({ ...server, key: '' }, '--direct --log log')
    const numbers = Array.from({ length: calls }, (_, n) => n).values()
    const headers = { 'content-type': 'application/json', 'x-api-key': canary }
    // Its idle connections end before those of the server do, which a machine that was paused closes all at once.
    const dispatcher = new Agent({ keepAliveTimeout: 1_000, keepAliveMaxTimeout: 1_000 })
    const work = async () => {
      for (const n of numbers) {
        const body = JSON.stringify({ domain: `mine${n}.example` })
        const url = `${here.baseUrl}/accounts/single_enrich`
        await (await request(url, { method: 'POST', headers, body, dispatcher })).body.dump()
      }
    }
    await Promise.all(Array.from({ length: 32 }, work))
    await dispatcher.close()
    expect(readFileSync(join(here.machine.home, 'log'), 'utf8')).toMatch(
      /"event":"suspect","operation":"accounts.enrich","member":null,"answers":\d/,
    )
  })

  it('never gives a member of a governed proxy the company that another one asked for', async () => {
    const server = await strayServer({ seed, nth: 10 })
    const here = await proxyOf({ ...server, key: canary }, '--log log', (one) =>
      one.json('engine members add you@localhost'),
    )
    const yours = await here.machine.newKey('you@localhost')
    const counts = { own: 0, others: 0, unknown: 0 }
    const numbers = Array.from({ length: calls }, (_, n) => n).values()
    const work = async (name: string, key: string) => {
      for (const n of numbers) {
        const reply = await enrich({ ...here, key }, `${name}${n}.example`)
        const answer = reply.json<{ domain?: string; code?: string }>()
        if (reply.status === 200) counts[answer.domain === `${name}${n}.example` ? 'own' : 'others']++
        else {
          expect([reply.status, answer.code]).toEqual([502, 'outcome_unknown'])
          counts.unknown++
        }
      }
    }
    await Promise.all(
      Array.from({ length: 32 }, (_, at) => (at % 2 ? work('mine', here.key) : work('yours', yours))),
    )
    expect([counts.others, counts.own + counts.unknown]).toEqual([0, calls])
    expect(counts.unknown).toBeGreaterThan(0)
    expect(readFileSync(join(here.machine.home, 'log'), 'utf8')).toMatch(
      /"event":"suspect","operation":"accounts.enrich","member":"you@localhost","answers":\d/,
    )
    const spent = await here.machine.json<{ member: string; suspect: number }[]>('ledger --by member')
    expect(spent.find(({ member }) => member === 'you@localhost')?.suspect).toBeGreaterThan(0)
  })
})
