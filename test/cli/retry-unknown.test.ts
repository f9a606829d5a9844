import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/api/calls/caller.js'
import { openState } from '../../src/storage/state/open.js'
import { answering, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)

/** A target without idempotency support that loses the answers for one domain and fails for another. */
function losing() {
  const asked: unknown[] = []
  const target = { loses: true }
  const answers = answering((_, { domain }) => {
    asked.push(domain)
    if (domain === 'failing.example') return { status: 500, body: { error: 'Broken' } }
    if (domain === 'lost.example' && target.loses)
      return { status: 500, unknown: true, body: { error: 'Lost' } }
    return { body: { name: `Name of ${domain}` }, credits: 1 }
  })
  return { caller: { ...answers, supportsIdempotency: async () => false }, asked, target }
}

const rows = ['a.example', 'lost.example', 'failing.example', 'lost.example', 'b.example']

async function enrich(caller: Caller, options = '') {
  here.write('in.csv', `domain\n${rows.join('\n')}\n`)
  const line = `accounts enrich --csv in.csv --fields name --format csv ${options}`
  const ended = await here.run(line, { caller })
  const [, ...lines] = ended.stdout.trimEnd().split('\n')
  return { ...ended, lines: lines.map((line) => line.split(',').slice(2, 4).join(' ')) }
}

describe('rows with an unknown outcome', () => {
  it('retries only the rows with an unknown outcome with --retry-unknown, and the run stays finished', async () => {
    const { caller, asked, target } = losing()
    const first = await enrich(caller)
    expect([first.code, first.lines[1]]).toEqual([11, 'failed outcome_unknown'])
    const hint =
      /^Outcome unknown: 2 rows, which may have been charged. To send them again: prospect runs resume \S+ --retry-unknown$/m
    expect(first.stderr).toMatch(hint)
    const before = asked.length
    expect((await enrich(caller)).code).toBe(11)
    expect(asked).toHaveLength(before)

    await enrich(caller, '--retry-unknown')
    expect(asked.slice(before)).toEqual(['lost.example'])
    target.loses = false
    const third = await enrich(caller, '--retry-unknown')
    expect(asked.slice(before)).toEqual(['lost.example', 'lost.example'])
    expect(third.stderr).toContain('is finished: only its rows with an unknown outcome are sent again.')
    expect(third.lines).toEqual(['found ', 'found ', 'failed Broken', 'found ', 'found '])
    expect(third.code).toBe(11)

    const last = await enrich(caller, '--retry-unknown')
    expect([last.code, last.lines, asked.length]).toEqual([11, third.lines, before + 2])
    expect(last.stderr).toContain('nothing is spent')
    expect(last.stderr).not.toMatch(hint)
  })

  it('retries only these where no stored answer may be used, too: the others are not paid for again', async () => {
    const { caller, asked, target } = losing()
    await enrich(caller, '--max-age 0')
    target.loses = false
    const before = asked.length
    const again = await enrich(caller, '--max-age 0 --retry-unknown')
    expect(asked.slice(before)).toEqual(['lost.example'])
    expect(again.stderr).toContain('only its rows with an unknown outcome are sent again')
  })

  it('keeps to the budget of the run with --retry-unknown', async () => {
    const { caller, asked, target } = losing()
    await enrich(caller)
    target.loses = false
    const before = asked.length
    expect((await enrich(caller, '--retry-unknown --max-credits 2')).code).toBe(12)
    expect(asked).toHaveLength(before)
    expect((await enrich(caller)).stderr).toContain('nothing is spent')
    expect((await enrich(caller, '--retry-unknown --max-credits 3')).code).toBe(11)
    expect(asked.slice(before)).toEqual(['lost.example'])
  })
})

it("marks a killed run as stopped on the day it ended, so that it does not use up today's budget", async () => {
  const { caller, asked, target } = losing()
  target.loses = false
  await enrich(caller)
  const state = await openState(here.path('state.db'))
  await state.transaction(async (tx) => {
    await tx.run(`UPDATE runs SET status = 'running', started_at = 1, ended_at = NULL`)
    await tx.run(`UPDATE budgets SET held = 256, scope = 'day default 1970-01-01' WHERE scope LIKE 'day %'`)
    await tx.run('UPDATE lookups SET answered_at = 2')
  })
  await state.close()
  const before = asked.length
  const next = await enrich(caller, '--fresh --max-credits-per-day 100')
  expect([next.code, asked.length > before]).toEqual([11, true])
  expect(await here.json('runs list')).toMatchObject([{ status: 'finished' }, { status: 'stopped' }])
  const after = await openState(here.path('state.db'))
  const record = await after.read((tx) => tx.get('SELECT status, ended_at FROM runs ORDER BY number'))
  await after.close()
  expect(record).toEqual({ status: 'stopped', ended_at: 2 })
})
