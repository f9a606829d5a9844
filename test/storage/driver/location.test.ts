import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { openEngine } from '../../../src/index.js'
import { isPostgres, locationProblem } from '../../../src/storage/driver/connection.js'
import { errorOf, machine } from '../../support/command.js'

const secret = 'very-secret'
const refused = [
  ` postgres://u:${secret}@h/x`,
  `postgres://u:${secret}@h/x `,
  `'postgres://u:${secret}@h/x'`,
  `"postgres://u:${secret}@h/x"`,
  `postgre://u:${secret}@h/x`,
  `mysql://u:${secret}@h/x`,
  `http://u:${secret}@h/x`,
  `x y://u:${secret}@h/x`,
]

describe('the location of a database', () => {
  it.each(refused)(
    'is refused, without its password, when it is neither PostgreSQL nor a path: %s',
    (location) => {
      expect(locationProblem(location)).toBeTypeOf('string')
      expect(locationProblem(location)).not.toContain(secret)
    },
  )

  it.each([
    'C:\\data\\engine.db',
    'data/engine.db',
    './a b.db',
    ':memory:',
    'Postgres://h/x',
    'POSTGRESQL://h/x',
  ])('is accepted: %s', (location) => {
    expect(locationProblem(location)).toBeUndefined()
  })

  it('is on a server whatever the case of its scheme', () => {
    expect(['Postgres://h/x', 'POSTGRESQL://h/x', 'C:\\postgres.db'].map(isPostgres)).toEqual([
      true,
      true,
      false,
    ])
  })

  it('creates no file and prints no password when a command refuses it', async () => {
    const here = machine()
    for (const location of refused) {
      const ended = await here.run('credits --json', { env: { PROSPECT_DATABASE_URL: location } })
      expect([ended.code, errorOf(ended).code]).toEqual([2, 'usage'])
      expect(ended.stderr + ended.stdout).not.toContain(secret)
    }
    expect(await readdir(here.home)).toEqual([])
    here.remove()
  })

  it('is refused by the library as well', async () => {
    await expect(openEngine({ engine: `mysql://u:${secret}@h/x` })).rejects.toThrow(
      'not a PostgreSQL address',
    )
  })
})
