import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { stocked } from '../support/flows.js'

const here = perTest(machine)
beforeEach(async () => {
  await stocked(here.run, 40)
  const rows = Array.from({ length: 40 }, (_, at) => `Company ${at},company-${at}.example\n`)
  here.write('list.csv', `Company,Website\n${rows.join('')}`)
})

const write = (steps: string, columns: string, more = '') =>
  here.write(
    'flow.yaml',
    `name: flow\ninput: { csv: list.csv }\nsteps:${steps}\noutput: { csv: out.csv, columns: [${columns}] }\n${more}`,
  )
const run = (...args: string[]) => here.run(['flow', 'run', 'flow.yaml', ...args])
const spent = async () => {
  const sums = await here.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
  return Object.fromEntries(sums.map((one) => [one.operation, one.credits]))
}

describe('steps of a flow that ask nobody', () => {
  it('compute columns, by which later steps take rows and let others pass by', async () => {
    write(
      `
  - accounts.enrich
  - set: { size: "headcount >= 90 ? 'large' : 'small'", double: headcount * 2, label: name + " in " + country }
  - accounts.stack:
    only_if: size == "large"`,
      'name, size, double, label',
    )
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('3 accounts.stack: 40 in · 32 passed by · 8 found'),
    ])
    expect(stderr).toContain('2 set: 40 in · 40 set')
    const rows = here.rows('out.csv')
    expect(rows[3]).toEqual({
      name: 'Company 3',
      size: 'small',
      double: '126',
      label: 'Company 3 in GB',
    })
    expect(rows.filter(({ size }) => size === 'large')).toHaveLength(8)
    expect(await spent()).toEqual({ 'accounts.enrich': 40, 'accounts.stack': 24 })
    expect((await run()).stderr).toContain('nothing was paid')
    expect(here.rows('out.csv')).toEqual(rows)
    // What has finished costs nothing: with another row it is a new run.
    here.write('list.csv', `${here.read('list.csv')}New,new.example\n`)
    const { json } = await here.run('flow quote flow.yaml --json')
    expect(json).toMatchObject({
      steps: [{}, { credits: { max: 0 } }, { rows: { max: 41 }, credits: { max: 30 }, from_history: true }],
    })
  })

  it('say of how many rows a condition found nothing to compare', async () => {
    here.write('list.csv', `${here.read('list.csv')}None,none.example\n`)
    write('\n  - accounts.enrich\n  - keep: headcount >= 50', 'name')
    expect((await run()).stderr).toMatch(/2 keep: 41 in · \d+ kept · 1 could not be compared\n/)
    expect(await here.json('flow show --last')).toMatchObject({ steps: [{}, { in: 41, doubtful: 1 }] })
  })

  it('leave a column empty where it cannot be computed, and say of how many rows', async () => {
    here.write('list.csv', `${here.read('list.csv')}None,none.example\n`)
    write(`\n  - accounts.enrich\n  - set: { double: headcount * 2 }`, 'input.Company, double')
    const { stderr } = await run()
    expect(stderr).toContain('2 set: 41 in · 40 set\n')
    expect(here.rows('out.csv').at(-1)).toEqual({ Company: 'None', double: '' })
  })

  it('let the first row of each value go on, and so many rows at most', async () => {
    write(
      `\n  - accounts.enrich\n  - distinct: country\n  - limit: 3\n  - accounts.stack`,
      'name, country, technologies',
    )
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 limit: 4 in · 3 kept')])
    expect(here.rows('out.csv').map(({ name, country }) => [name, country])).toEqual([
      ['Company 0', 'DE'],
      ['Company 1', 'FR'],
      ['Company 2', 'AT'],
    ])
    const paid = await spent()
    expect(paid['accounts.stack']).toBe(9)
    // Not all rows are looked up for three of them.
    expect(paid['accounts.enrich']).toBeLessThan(20)
    const out = here.read('out.csv')
    expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was paid') })
    expect([here.read('out.csv'), await spent()]).toEqual([out, paid])
  })

  it('that change when a flow has finished leave no row without its answer, and pay for new rows only', async () => {
    const steps = (least: number) =>
      `\n  - accounts.enrich\n  - keep: headcount >= ${least}\n  - accounts.stack`
    write(steps(90), 'name, technologies')
    expect((await run()).code).toBe(0)
    expect(await spent()).toEqual({ 'accounts.enrich': 40, 'accounts.stack': 24 })
    write(steps(80), 'name, technologies')
    expect(await run()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('failed') })
    const rows = here.rows('out.csv')
    expect(rows).toHaveLength(16)
    expect(rows.every(({ technologies }) => technologies !== '')).toBe(true)
    expect(await spent()).toEqual({ 'accounts.enrich': 40, 'accounts.stack': 48 })
  })

  it('have their limit again in the next run of a flow that takes what is new, with what the last one left over', async () => {
    write('\n  - accounts.enrich\n  - keep: headcount >= 50\n  - limit: 10', 'name', 'since: last_run\n')
    const found: string[] = []
    for (const expected of [10, 10, 10, 2, 0]) {
      expect((await run()).code).toBe(0)
      const rows = here.rows('out.csv')
      expect(rows).toHaveLength(expected)
      found.push(...rows.map(({ name = '' }) => name))
    }
    expect(new Set(found).size).toBe(32)
    expect(await spent()).toEqual({ 'accounts.enrich': 40 })
  })

  it('sort all rows before a limit, so that the best of them go on, and those without a value come last', async () => {
    here.write('list.csv', `${here.read('list.csv')}None,none.example\n`)
    write(
      `\n  - accounts.enrich\n  - sort: [country desc, headcount]\n  - limit: 11\n  - accounts.stack`,
      'input.Company, country, headcount, technologies',
    )
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 sort: 41 in · 41 kept')])
    const heads = (at: number) =>
      Array.from({ length: 40 }, (_, one) => ({ one, headcount: one % 5 === 0 ? 7 : 60 + one }))
        .filter(({ one }) => one % 4 === at)
        .sort((a, b) => a.headcount - b.headcount || a.one - b.one)
        .map(({ one }) => `Company ${one}`)
    const rows = here.rows('out.csv')
    expect(rows.map(({ Company }) => Company)).toEqual([...heads(3), ...heads(1)].slice(0, 11))
    expect(rows.every(({ technologies }) => technologies !== '')).toBe(true)
    expect(await spent()).toEqual({ 'accounts.enrich': 40, 'accounts.stack': 33 })
    const out = here.read('out.csv')
    expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was paid') })
    expect(here.read('out.csv')).toBe(out)
    write('\n  - accounts.enrich\n  - sort: headcount desc', 'input.Company')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv').map(({ Company }) => Company)).toEqual([
      ...heads(0)
        .concat(heads(1), heads(2), heads(3))
        .filter((name) => Number(name.slice(8)) % 5 > 0)
        .sort((a, b) => Number(b.slice(8)) - Number(a.slice(8))),
      ...Array.from({ length: 8 }, (_, at) => `Company ${5 * at}`),
      'None',
    ])
    write('\n  - accounts.enrich\n  - sort: headcout desc', 'input.Company')
    const { stderr: refused } = await here.run('flow check flow.yaml')
    expect(refused).toMatch(/flow\.yaml:5:11:.*headcout.*headcount/s)
  })

  it('sort what is new in each run of a flow, with what the last one left over', async () => {
    write(
      '\n  - accounts.enrich\n  - keep: headcount >= 50\n  - sort: headcount desc\n  - limit: 10',
      'name, headcount',
      'since: last_run\n',
    )
    const found: number[] = []
    for (const expected of [10, 10, 10, 2, 0]) {
      expect((await run()).code).toBe(0)
      const rows = here.rows('out.csv')
      expect(rows).toHaveLength(expected)
      found.push(...rows.map(({ headcount }) => Number(headcount)))
    }
    expect(found).toEqual([...new Set(found)].sort((one, other) => other - one))
    expect(await spent()).toEqual({ 'accounts.enrich': 40 })
  })

  it('keep the order in which rows have gone on where --retry-unknown brings one that was lost', async () => {
    let isUp = false
    const { origin } = closeAfterTest(
      await answering(async (request, response) => {
        const { name } = JSON.parse((await received(request)).body) as { name: string }
        if (!isUp && name === 'Company 39') return response.socket?.destroy()
        return response.end(JSON.stringify({ seen: true }))
      }),
    )
    write(
      `
  - accounts.enrich
  - http: { post: "${origin}", body: { name: "{name}" }, result: { seen: seen }, per_second: 10000 }
  - keep: headcount >= 80
  - sort: headcount desc
  - accounts.stack`,
      'name, headcount, technologies',
    )
    expect((await run()).code).toBe(11)
    expect(here.rows('out.csv')).toHaveLength(15)
    isUp = true
    const { code, stderr } = await run('--retry-unknown')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    const rows = here.rows('out.csv')
    const heads = rows.slice(0, -1).map(({ headcount }) => Number(headcount))
    expect([heads.length, heads]).toEqual([15, heads.toSorted((one, other) => other - one)])
    expect(rows.at(-1)).toMatchObject({ name: 'Company 39', headcount: '99' })
    expect(rows.every(({ technologies }) => technologies !== '')).toBe(true)
    expect(await spent()).toMatchObject({ 'accounts.enrich': 40, 'accounts.stack': 48 })
  })
})
