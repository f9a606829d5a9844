import { beforeEach, describe, expect, it } from 'vitest'
import { errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

describe('runs that machines share', () => {
  it.each([
    [['--database', 'engine.db'], '--database'],
    [['--shared'], 'PROSPECT_DATABASE_URL'],
  ])('are refused with %j where no PostgreSQL database is named', async (options, name) => {
    const ended = await here.run(['runs', 'list', ...options])
    expect([ended.code, errorOf(ended).error]).toEqual([
      2,
      `Machines share runs in a PostgreSQL database, and ${name} does not name one.`,
    ])
  })
})

describe('the address of a database', () => {
  it.each([
    'postgres://prospect:secret@db.example/prospect',
    'postgres://db.example/prospect?user=a&password=secret',
  ])('is refused with a password in it: %s', async (address) => {
    const ended = await here.run(['data', 'stats', '--database', address])
    expect(ended.code).toBe(2)
    expect(errorOf(ended).hint).toContain('PROSPECT_DATABASE_URL')
    expect(ended.stderr).not.toContain('secret')
  })

  it('is refused for a shared catalogue when it is a file', async () => {
    const ended = await here.run(['data', 'stats', '--database', 'catalogue.db'])
    expect([ended.code, errorOf(ended).error]).toEqual([
      2,
      '--database is not the address of a PostgreSQL database.',
    ])
  })
})
