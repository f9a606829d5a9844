import { describe, expect, it, vi } from 'vitest'
import { runsOver } from '../../../src/runs/journal/runs.js'
import { spendingOver } from '../../../src/runs/journal/spending.js'
import { states } from '../../support/states.js'
import { newRun } from '../fakes.js'

const engine = 'abcd1234'
const moved = {
  target: `local ${engine}`,
  identityKey: 'now',
  engine,
  formerly: [{ target: 'local', identityKey: 'before', engine }],
}

describe.each(states())('the records of an engine that was moved: %s', (_, open) => {
  async function stopped(more: Parameters<typeof newRun>[0] = {}) {
    const driver = await open()
    const runs = runsOver(driver)
    await runs.adopt({ target: 'local', identityKey: 'before', engine })
    const run = await runs.add(newRun({ identityKey: 'before', ...more }))
    await driver.transaction((c) => c.run(`UPDATE runs SET status = 'stopped'`))
    return { driver, runs, run }
  }

  it('are found under its new name, each by its own request', async () => {
    const { runs, run } = await stopped()
    await runs.add(newRun({ id: 'other', identityKey: 'other before' }))
    await runs.adopt(moved)
    expect(await runs.known(moved)).toMatchObject({ id: run.id, target: moved.target })
    const other = { ...moved, identityKey: 'other now' }
    expect(await runs.known(other)).toBeUndefined()
    await runs.adopt({ ...other, formerly: [{ target: 'local', identityKey: 'other before', engine }] })
    // It is under way: it ends under the name that it began with.
    expect(await runs.known(other)).toBeUndefined()
  })

  it('are found later, too, when another run was renamed first', async () => {
    const { driver, runs } = await stopped()
    await runs.add(newRun({ id: 'other', identityKey: 'other before' }))
    await driver.transaction((c) => c.run(`UPDATE runs SET status = 'stopped'`))
    await runs.adopt(moved)
    const other = {
      ...moved,
      identityKey: 'other now',
      formerly: [{ target: 'local', identityKey: 'other before', engine }],
    }
    await runs.adopt(other)
    expect(await runs.known(other)).toMatchObject({ id: 'other', target: moved.target })
  })

  it('are only read once they are under it, so that nobody waits for another writer', async () => {
    const { driver, runs } = await stopped()
    await runs.adopt(moved)
    const transaction = vi.spyOn(driver, 'transaction')
    await runs.adopt(moved)
    expect(transaction).not.toHaveBeenCalled()
  })

  it('are left alone when another engine uses the old name since', async () => {
    const { runs } = await stopped()
    await runs.adopt({ target: 'local', identityKey: 'x', engine: 'another' })
    await runs.adopt(moved)
    expect(await runs.known(moved)).toBeUndefined()
    expect(await runs.known({ target: 'local', identityKey: 'before' })).toBeDefined()
  })

  it('have their spending added up under the new name', async () => {
    const { driver, runs } = await stopped()
    const spending = spendingOver(driver)
    const spender = { profile: 'default', operation: 'accounts.enrich' }
    await spending.count({ ...spender, target: 'local' }, { credits: 3, calls: 2 }, 0)
    await spending.count({ ...spender, target: moved.target }, { credits: 1, calls: 1 }, 0)
    await runs.adopt(moved)
    expect(await spending.list({})).toMatchObject([{ target: moved.target, credits: 4, calls: 3 }])
  })
})
