import { describe, expect, it } from 'vitest'
import { machines } from '../support/databases.js'
import { perTest } from '../support/each.js'
import { sample } from '../support/effort.js'

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

describe.each(machines)('one person, in %s,', (name, open) => {
  const here = perTest(open)

  it.each(name === 'SQLite' ? cases : sample(cases, 3))(
    'is one for the catalogue and for a batch: %s',
    async (_, people, ...rows) => {
      here.write('q.csv', [header, ...rows].join('\n'))
      const { added } = await here.json<{ added: number }>('data import people q.csv')
      const { unique } = await here.json<{ unique: number }>('leads enrich --csv q.csv --dry-run')
      expect({ added, unique }).toEqual({ added: people, unique: people })
    },
  )

  it('is one lookup with another of the same name where the request cannot say more', async () => {
    here.write(
      'q.csv',
      [header, 'Ada,Byron,ada@acme.example,,acme.example', 'Ada,Byron,byron@acme.example,,acme.example'].join(
        '\n',
      ),
    )
    expect(await here.json('data import people q.csv')).toMatchObject({ added: 2 })
    expect(await here.json('leads enrich --csv q.csv --dry-run')).toMatchObject({ unique: 1 })
  })

  it('is paid once, whichever of its rows is found', async () => {
    here.write('known.csv', [header, `Ada,Byron,,${ada},acme.example`].join('\n'))
    await here.json('init')
    await here.json('data import people known.csv')
    // Only the last row would be found alone.
    here.write('q.csv', [header, 'Ada,Byron,,,globex.example', `Ada,Byron,,${ada},globex.example`].join('\n'))
    await here.run('leads enrich --csv q.csv -o out.csv --yes')
    expect(here.rows('out.csv').map(({ _status, _credits }) => [_status, _credits])).toEqual([
      ['found', '1'],
      ['found', '0'],
    ])
    expect(here.exists('catalogue.db')).toBe(name === 'SQLite')
  })

  it('is told apart by letters, not by characters that no database keeps', async () => {
    const at = { company_name: 'Acme', company_domain: 'acme.example' }
    const people = [
      { ...at, full_name: 'Ada By\ud800ron' },
      { ...at, full_name: 'Ada By\ud801ron' },
      { full_name: 'Bob R\u0000oe', email: 'bob@acme.example' },
      { full_name: 'Bob Roe', email: 'bo\u0000b@acme.example' },
      { ...at, full_name: 'Émile Zola' },
      { ...at, full_name: 'emile zola' },
      { full_name: 'Ilker ISIK', email: 'ILKER@acme.example' },
      { full_name: 'İlker Işık', email: 'ilker@acme.example' },
    ]
    const { stdout } = await here.run('data import people - --json', { stdin: JSON.stringify(people) })
    expect(JSON.parse(stdout)).toMatchObject({
      added: 4,
      updated: 3,
      rejected: [{ line: 4, reason: 'email: must not contain NUL' }],
    })
    const kept = (await here.run('data export people --format ndjson')).stdout.trim().split('\n')
    const names = kept.map((line) => (JSON.parse(line) as { full_name?: string }).full_name ?? '')
    expect(names.sort()).toEqual(['', 'Ada By\ufffdron', 'emile zola', 'İlker Işık'])
  })
})
