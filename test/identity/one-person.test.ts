import { describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { sample } from '../support/effort.js'
import { emptySchema } from '../support/postgres.js'

const header = 'first_name,last_name,email,network_url,company_domain'
const ada = 'https://www.network.example/in/ada-byron'
const other = 'https://www.network.example/in/ada-b'

/** Rows, and how many people they are about for the catalogue, a batch and lists alike. */
const cases: readonly (readonly [what: string, people: number, ...rows: string[]])[] = [
  [
    'email, name at a company, and profile',
    1,
    'Ada,Byron,ada@acme.example,,acme.example',
    'Ada,Byron,,,acme.example',
    `Ada,Byron,ada@acme.example,${ada},acme.example`,
  ],
  [
    'the same in another order',
    1,
    `Ada,Byron,ada@acme.example,${ada},acme.example`,
    'Ada,Byron,ada@acme.example,,acme.example',
    'Ada,Byron,,,acme.example',
  ],
  [
    'an email, and a profile with the same name',
    1,
    'Ada,Byron,ada@acme.example,,acme.example',
    `Ada,Byron,,${ada},acme.example`,
  ],
  ['two profiles with one name', 2, `Ada,Byron,,${ada},acme.example`, `Ada,Byron,,${other},acme.example`],
  [
    'two profiles with one email',
    2,
    `Ada,Byron,a@acme.example,${ada},acme.example`,
    `Ada,Byron,a@acme.example,${other},acme.example`,
  ],
  ['one name at two companies', 2, 'Ada,Byron,,,acme.example', 'Ada,Byron,,,globex.example'],
  [
    'an email in other letters',
    1,
    'Ada,Byron,ADA@acme.example,,acme.example',
    'Ada,Byron,ada@acme.example,,',
  ],
  [
    'an email of wide letters, and with an invisible one',
    1,
    'Ada,Byron,ada@acme.example,,acme.example',
    'Ada,Byron,ａｄａ＠acme.example,,',
    'Ada,Byron,ad\u200ba@acme.example,,',
  ],
  [
    'an email whose domain has letters of its language',
    1,
    'Ada,Byron,ada@bücher.example,,acme.example',
    'Ada,Byron,ada@xn--bcher-kva.example,,',
  ],
  ['a name with an invisible letter', 1, 'Ada,Byron,,,acme.example', 'A\u00adda,Byron,,,acme.example'],
  ['a profile in another spelling', 1, `Ada,Byron,,${ada},`, 'Ada,Byron,,network.example/in/Ada-Byron/,'],
  ['an accent', 1, 'Àda,Byron,,,acme.example', 'Ada,Byron,,,www.acme.example'],
]

/** Where the catalogue and the engine of a machine are. */
const databases: readonly [name: string, some: typeof cases, open: () => Promise<{ url?: string }>][] = [
  ['SQLite', cases, async () => ({})],
  ['PostgreSQL', sample(cases, 3), emptySchema],
]

describe.each(databases)('one person, in %s,', (_, some, open) => {
  const here = perTest(machine)
  const place = perTest(open)
  const run = (line: string) =>
    here.run(line, { env: place.url === undefined ? {} : { PROSPECT_DATABASE_URL: place.url } })
  const json = async (line: string) => {
    const { code, stderr, stdout } = await run(`${line} --json`)
    expect([code, stderr]).toEqual([0, expect.anything()])
    return JSON.parse(stdout) as { added: number; unique: number }
  }

  it.each(some)('is one for the catalogue and for a batch: %s', async (_, people, ...rows) => {
    here.write('q.csv', [header, ...rows].join('\n'))
    const { added } = await json('data import people q.csv')
    const { unique } = await json('leads enrich --csv q.csv --dry-run')
    expect({ added, unique }).toEqual({ added: people, unique: people })
  })

  it('is one lookup with another of the same name where the request cannot say more', async () => {
    here.write(
      'q.csv',
      [header, 'Ada,Byron,ada@acme.example,,acme.example', 'Ada,Byron,byron@acme.example,,acme.example'].join(
        '\n',
      ),
    )
    expect(await json('data import people q.csv')).toMatchObject({ added: 2 })
    expect(await json('leads enrich --csv q.csv --dry-run')).toMatchObject({ unique: 1 })
  })

  it('is paid once, whichever of its rows is found', async () => {
    here.write('known.csv', [header, `Ada,Byron,,${ada},acme.example`].join('\n'))
    await json('init')
    await json('data import people known.csv')
    // Only the last row would be found alone.
    here.write('q.csv', [header, 'Ada,Byron,,,globex.example', `Ada,Byron,,${ada},globex.example`].join('\n'))
    await run('leads enrich --csv q.csv -o out.csv --yes')
    expect(here.rows('out.csv').map(({ _status, _credits }) => [_status, _credits])).toEqual([
      ['found', '1'],
      ['found', '0'],
    ])
    expect(here.exists('catalogue.db')).toBe(place.url === undefined)
  })
})
