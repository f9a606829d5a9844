import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../support/command.js'
import { stocked, writeList } from '../support/flows.js'

let here: Machine
beforeEach(async () => {
  here = machine()
  await stocked(here.run, 40)
  writeList(here.home, 60)
})
afterEach(() => here.remove())

const path = (name: string) => join(here.home, name)
const read = (name: string) => readFileSync(path(name), 'utf8')
const write = (lines: readonly string[]) => writeFileSync(path('flow.yaml'), `${lines.join('\n')}\n`)
const run = (...args: string[]) => here.run(['flow', 'run', 'flow.yaml', ...args])

/** Returns what each operation has cost. */
const spent = async () => {
  const sums = await here.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
  return Object.fromEntries(sums.map((one) => [one.operation, one.credits]))
}

const companies = (budget = '{}') => [
  'name: companies',
  'input: { csv: list.csv }',
  'steps:',
  '  - accounts.enrich',
  '  - keep: headcount >= 50 && country in ["DE", "FR"]',
  '  - accounts.stack',
  '  - accounts.hiring: { limit: 2 }',
  'output: { csv: out.csv, columns: [name, headcount, country, input.Record ID] }',
  `budget: ${budget}`,
]

describe('prospect flow run', () => {
  it('passes rows through its steps, and writes them again for nothing when it has finished', async () => {
    write(companies())
    const { code, stderr } = await run()
    const out = read('out.csv')
    expect(code).toBe(11)
    expect(stderr).toContain(
      '1 accounts.enrich: 61 in · 36 found · 5 duplicates · 55 go on · 1 invalid · 33 credits',
    )
    expect(stderr).toContain('2 keep: 55 in · 13 kept\n3 accounts.stack: 13 in · 13 found · 39 credits\n')
    expect(out.split('\n').slice(0, 3)).toEqual([
      'name,headcount,country,Record ID',
      'Company 1,61,FR,1',
      'Company 4,64,DE,4',
    ])
    const paid = await spent()
    expect(paid).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 39, 'accounts.hiring': 0 })
    const again = await run()
    expect(again.code).toBe(0)
    expect(again.stderr).toContain('nothing was paid')
    expect(read('out.csv')).toBe(out)
    expect(await spent()).toEqual(paid)
  })

  it('stops in the step in which its budget ends, and goes on when that is raised', async () => {
    write(companies('{ credits: 45 }'))
    const { code, stderr } = await run()
    expect(code).toBe(12)
    expect(await spent()).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 12 })
    expect(stderr).toContain('prospect flow resume')
    expect(stderr).toContain('Budget reached: 45 credits for this flow.')
    expect(existsSync(path('out.csv'))).toBe(false)
    write(companies('{ credits: 1000 }'))
    expect((await run()).code).toBe(11)
    const [paid, out] = [await spent(), read('out.csv')]
    here.remove()
    await stocked(here.run, 40)
    writeList(here.home, 60)
    write(companies())
    await run()
    expect(read('out.csv')).toBe(out)
    expect(await spent()).toEqual(paid)
  })

  it('prints the rows of a step for a look, and reuses what was paid for them', async () => {
    write(companies())
    const look = await run('--rows', '4', '--until', 'keep', '--format', 'ndjson')
    expect(
      look.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([expect.objectContaining({ name: 'Company 1', headcount: 61, 'Record ID': '1' })])
    expect(existsSync(path('out.csv'))).toBe(false)
    await run()
    expect(await spent()).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 39, 'accounts.hiring': 0 })
  })

  it('is listed and shown as a flow, and resumed as one', async () => {
    write(companies('{ credits: 45 }'))
    await run()
    const [flow] = await here.json<{ id: string; status: string; credits: number }[]>('flow', 'list')
    expect(flow).toMatchObject({ flow: 'companies', status: 'stopped', credits: 45 })
    const { stdout } = await here.run(['flow', 'show', '--last', '--format', 'table'])
    expect(stdout).toContain('3 accounts.stack')
    expect(stdout).toMatch(/2 keep +13 /)
    const refused = await here.run(['runs', 'resume', flow?.id ?? ''])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('is a flow')
    write(companies())
    expect((await here.run(['flow', 'resume', '--last'])).code).toBe(11)
    expect(await here.json('flow', 'show', '--last')).toMatchObject({
      id: flow?.id,
      status: 'finished',
      written: 13,
    })
  })
})
