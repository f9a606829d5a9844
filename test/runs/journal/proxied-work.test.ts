import { describe, expect, it } from 'vitest'
import { passedWorkOver } from '../../../src/runs/journal/proxied-work.js'
import { spendingOver } from '../../../src/runs/journal/spending.js'
import { states } from '../../support/states.js'

describe.each(states())('work that passed through a proxy, in %s', (_, open) => {
  const day = 86_400_000
  const now = 100 * day
  const spender = { profile: 'default', target: 'https://a.example/api/v2', operation: 'intents.hiring' }
  const records = (...names: readonly string[]) => names.map((name) => ({ record: `s ${name}`, credits: 1 }))

  it('costs what its records cost, each once, on account of the member who asked for it', async () => {
    const driver = await open()
    const work = passedWorkOver(driver)
    await work.start({ ...spender, member: 'ada@a.example' }, ['s'], now)
    await work.count(spender, ['unknown', 's'], records('#1', '#2'), now)
    await work.count(spender, ['s'], records('#2', '#3'), now)
    await work.count(spender, ['s'], records('#1', '#2', '#3'), now)
    expect(await spendingOver(driver).list({})).toMatchObject([
      { credits: 3, calls: 2, member: 'ada@a.example', run: null },
    ])
  })

  it('is remembered for 90 days', async () => {
    const driver = await open()
    const work = passedWorkOver(driver)
    await work.count(spender, ['s'], records('#1'), now)
    await work.count(spender, ['s'], records('#1'), now + 90 * day)
    await work.count(spender, ['s'], records('#1'), now + 91 * day)
    const spent = await spendingOver(driver).list({})
    expect(spent.map(({ credits }) => credits)).toEqual([1, 1])
  })

  it('counts at the records that passed where a reply says fewer, once', async () => {
    const work = passedWorkOver(await open())
    const hold = { member: 'one', credits: 9, week: 1 }
    await work.start(spender, ['s'], now)
    await work.hold(spender.target, [{ ...hold, id: 's' }])
    await work.count(spender, ['s'], records('#1', '#2', '#3'), now)
    const finish = () => work.finish(spender, [{ id: 's', credits: 1, price: 1 }], now)
    expect(await finish()).toEqual([{ ...hold, cost: 3 }])
    expect(await finish()).toEqual([])
  })
})
