import { beforeEach, describe, expect, it } from 'vitest'
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
    const { json } = await here.run('flow quote flow.yaml --json')
    expect(json).toMatchObject({
      steps: [{}, { credits: { max: 0 } }, { rows: { max: 40 }, credits: { max: 30 }, from_history: true }],
    })
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
})
