import { describe, expect, it } from 'vitest'
import { proxiedWorkOver } from '../../../src/runs/journal/proxied-work.js'
import { spendingOver } from '../../../src/runs/journal/spending.js'
import { states } from '../../support/states.js'

describe.each(states())('work that passed through a proxy, in %s', (_, open) => {
  const day = 86_400_000
  const operation = 'intents.hiring'
  const records = (...names: readonly string[]) => names.map((name) => ({ record: `s ${name}`, credits: 1 }))

  async function passing() {
    const driver = await open()
    const settled: unknown[] = []
    let now = 100 * day
    const work = proxiedWorkOver(driver, {
      target: 'https://a.example/api/v2',
      profile: 'default',
      now: () => now,
      settle: async ({ credits }, cost) => void settled.push([credits, cost]),
    })
    return { work, settled, pass: (ms: number) => (now += ms), spent: () => spendingOver(driver).list({}) }
  }

  it('costs what its records cost, each once, on account of the member who asked for it', async () => {
    const { work, spent } = await passing()
    await work.start(['s'], operation, 'ada@a.example')
    await work.count(operation, ['unknown', 's'], records('#1', '#2'))
    await work.count(operation, ['s'], records('#2', '#3'))
    await work.count(operation, ['s'], records('#1', '#2', '#3'))
    expect(await spent()).toMatchObject([{ credits: 3, calls: 2, member: 'ada@a.example', run: null }])
  })

  it('is remembered for 90 days', async () => {
    const { work, pass, spent } = await passing()
    await work.count(operation, ['s'], records('#1'))
    pass(90 * day)
    await work.count(operation, ['s'], records('#1'))
    pass(1)
    await work.count(operation, ['s'], records('#1'))
    expect((await spent()).map(({ credits }) => credits)).toEqual([1, 1])
  })

  it('counts at the records that passed where a reply says fewer, once', async () => {
    const { work, settled } = await passing()
    await work.start(['s'], operation)
    await work.hold([{ id: 's', member: 'one', credits: 9, week: 1 }])
    await work.count(operation, ['s'], records('#1', '#2', '#3'))
    for (const _ of [1, 2]) await work.finish(operation, [{ id: 's', credits: 1, price: 1 }])
    expect(settled).toEqual([[9, 3]])
  })
})
