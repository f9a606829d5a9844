import { afterEach, describe, expect, it } from 'vitest'
import type { ListKind, Match } from '../../src/lists/list-index.js'
import { rowInput } from '../../src/runs/input/mapping.js'
import { mapList, openMatcher, tableList } from '../../src/runs/lists.js'
import { tries } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'

const opened: (() => void)[] = []
const home = { onClose: (work: () => void) => void opened.push(work) }
afterEach(() => opened.splice(0).forEach((close) => void close()))

/** Random whole numbers below a limit, the same every time. */
function createRandom(seed: number) {
  let state = seed
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % limit
  }
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T
  const shuffle = <T>(list: readonly T[]): T[] =>
    list
      .map((item) => [next(1_000_000), item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item)
  return { next, pick, shuffle }
}
type Random = ReturnType<typeof createRandom>

/** What a row says, as it is compared; absent where the row does not say it. */
type Facts = Readonly<Record<string, string | undefined>>

type Spelling = (value: string) => string

/** Names that a column may have, the fact that it holds, and ways to write that. */
type Column = readonly [names: readonly string[], fact: string, ...spellings: Spelling[]]

const same: Spelling = (value) => value
const upper: Spelling = (value) => value.toUpperCase()
const sites: Spelling[] = [same, (value) => `https://www.${value}/about`, (value) => ` ${upper(value)} `]
const names: Spelling[] = [same, (value) => `${value} GmbH`, (value) => `${upper(value)}, Inc.`]
const pages: Spelling[] = [
  (value) => `https://www.linkedin.com/company/${value}/`,
  (value) => `linkedin.com/company/${upper(value)}?x=1`,
]
const profiles: Spelling[] = [
  (value) => `https://www.linkedin.com/in/${value}`,
  (value) => `fr.linkedin.com/in/${value}/`,
]

const columns: Readonly<Record<ListKind, readonly Column[]>> = {
  companies: [
    [['Website', 'Company Domain Name', 'domain'], 'domain', ...sites],
    [['LinkedIn Company Page', 'network_url'], 'slug', ...pages],
    [['network_id'], 'id', same],
    [['Company', 'Account Name', 'name'], 'name', ...names],
    [['Country', 'Country/Region'], 'country', same, (value) => (value === 'FR' ? 'France' : 'Germany')],
  ],
  people: [
    [['Email', 'Work Email'], 'email', same, upper, (value) => `mailto:${value}`],
    [['personal_email'], 'other', same],
    [['LinkedIn URL', 'Person Linkedin Url'], 'slug', ...profiles],
    [['Full name', 'Contact name'], 'person', same, upper],
    [['Company domain', 'Website'], 'domain', ...sites],
    [['Company', 'Company name'], 'company', ...names],
  ],
}

/** Returns a row about one of a few companies or people, of which it says some things, and some of them wrong. */
function generateFacts(kind: ListKind, { next, pick }: Random): Facts {
  const who = next(120)
  const other = () => (next(8) === 0 ? next(120) : who)
  const some = (value: string) => (next(3) === 0 ? undefined : value)
  const letters = (number: number) => [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('')
  if (kind === 'companies')
    return {
      domain: some(`company-${other()}.com`),
      slug: some(`company-${other()}`),
      id: some(String(1_000 + other())),
      name: some(`Acme Zorx${letters(other() % 60)}`),
      country: some(pick(['FR', 'DE'])),
    }
  return {
    email: some(`p${other()}@company-${who % 20}.com`),
    other: some(`p${other()}@mail-${next(3)}.com`),
    slug: some(`person-${other()}`),
    person: some(`Maria Mix${letters(other() % 60)}`),
    domain: some(`company-${other() % 20}.com`),
    company: some(`Acme Zorx${letters(other() % 20)}`),
  }
}

interface Generated {
  readonly facts: readonly Facts[]
  readonly table: Parameters<typeof tableList>[1] & Parameters<typeof mapList>[0]
}

/** Returns a file of generated rows with some of the columns, in any order. */
function generateTable(kind: ListKind, rows: number, random: Random): Generated {
  const { next, pick, shuffle } = random
  const first = columns[kind][next(kind === 'companies' ? 4 : 3) === 1 ? 1 : 0] as Column
  const used = shuffle(columns[kind].filter((column) => column === first || next(4) > 0))
  const header = used.map(([names]) => pick(names))
  if (new Set(header).size < header.length) return generateTable(kind, rows, random)
  const written = Array.from({ length: rows }, () => generateFacts(kind, random))
  const cells = written.map((facts) =>
    used.map(([, fact, ...spellings]) => {
      const value = facts[fact]
      return value === undefined ? '' : pick(spellings)(value)
    }),
  )
  const kept = new Set(used.map(([, fact]) => fact))
  return {
    facts: written.map((facts) =>
      Object.fromEntries(Object.entries(facts).filter(([name]) => kept.has(name))),
    ),
    table: {
      header,
      notes: [],
      samples: header.map((_, at) => cells.map((row) => row[at] ?? '').filter((cell) => cell !== '')),
      async *rows() {
        yield cells.map((row, at) => ({ cells: row, line: at + 2 }))
      },
    },
  }
}

type Naive = Pick<Match, 'verdict' | 'by' | 'list' | 'lines'>

const keysOf: Readonly<
  Record<ListKind, readonly (readonly [by: string, facts: readonly string[], surer: readonly string[]])[]>
> = {
  companies: [
    ['domain', ['domain'], ['slug', 'id']],
    ['profile', ['slug'], ['id']],
    ['network_id', ['id'], []],
    ['name', ['name'], ['domain', 'slug', 'id']],
  ],
  people: [
    ['email', ['email'], ['slug']],
    ['profile', ['slug'], []],
    ['name', ['person', 'domain'], ['slug', 'email']],
    ['name', ['person', 'company'], ['slug', 'email', 'domain']],
  ],
}

/** What identifies alone, the surest first. */
const surest: Readonly<Record<ListKind, readonly string[]>> = {
  companies: ['id', 'slug', 'domain'],
  people: ['slug', 'email'],
}

/** Values of a fact; of addresses a person may have two. */
const valuesOf = (facts: Facts, name: string): readonly string[] =>
  (name === 'email' ? [facts.email, facts.other] : [facts[name]]).filter((value) => value !== undefined)

/** Whether two rows say the same of something; `undefined` where one of them says nothing. */
function agree(one: Facts, other: Facts, name: string): boolean | undefined {
  const [own, their] = [valuesOf(one, name), valuesOf(other, name)]
  return own.length === 0 || their.length === 0 ? undefined : own.some((value) => their.includes(value))
}

const differ = (one: Facts, other: Facts, facts: readonly string[]): boolean =>
  facts.some((name) => agree(one, other, name) === false)

/** Whether two rows of a list are known to be about the same: what is surest decides. */
function areOne(kind: ListKind, one: Facts, other: Facts): boolean {
  const said = surest[kind].map((name) => agree(one, other, name)).find((is) => is !== undefined)
  return said ?? JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort())
}

/** Compares a row with every row of every list. */
function matchNaively(kind: ListKind, row: Facts, lists: readonly Generated[]): Naive {
  let doubt: Naive = { verdict: 'no', by: '', list: '', lines: [] }
  for (const [number, { facts: rows }] of lists.entries()) {
    const found = matchIn(kind, row, rows, `list ${number}`)
    if (found.verdict === 'yes') return found
    if (doubt.verdict === 'no') doubt = found
  }
  return doubt
}

function matchIn(kind: ListKind, row: Facts, rows: readonly Facts[], list: string): Naive {
  let doubt: Naive = { verdict: 'no', by: '', list: '', lines: [] }
  for (const [by, facts, surer] of keysOf[kind]) {
    const values = by === 'email' ? valuesOf(row, 'email') : ['']
    for (const value of values) {
      const isEqual = (other: Facts) =>
        by === 'email'
          ? valuesOf(other, 'email').includes(value)
          : facts.every((name) => row[name] !== undefined && other[name] === row[name])
      const isEqualAtDomain = by === 'name' && facts.includes('domain') && rows.some(isEqual)
      // Who has the name at the company, and no domain, may be meant as well.
      const isBeside = (other: Facts) =>
        isEqualAtDomain &&
        other.domain === undefined &&
        ['person', 'company'].every((name) => row[name] !== undefined && other[name] === row[name])
      const near = rows
        .map((other, at) => ({ other, at }))
        .filter(({ other }) => isEqual(other) || isBeside(other))
        .filter(({ other }) => by !== 'name' || !differ(row, other, ['country']))
      const isPlaced = (other: Facts) =>
        kind === 'people' || by !== 'name' || (row.country !== undefined && other.country !== undefined)
      const sure = near.filter(({ other }) => !differ(row, other, surer) && isPlaced(other))
      const isCalledSo = ({ other }: { other: Facts }) =>
        kind === 'companies'
          ? row.name !== undefined && agree(row, other, 'name') === true
          : row.person !== undefined &&
            agree(row, other, 'person') === true &&
            (agree(row, other, 'domain') === true || agree(row, other, 'company') === true)
      const found = sure.find(isCalledSo) ?? sure[0] ?? near[0]
      if (!found) continue
      const isShared = by === 'name' && near.some(({ other }) => !areOne(kind, found.other, other))
      const verdict = sure.length > 0 && !isShared ? 'yes' : 'maybe'
      const lines = (isShared ? near : [found]).map(({ at }) => at + 2)
      const match = { verdict, by, list, lines } as const
      if (verdict === 'yes' || lines.length > 1) return match
      if (doubt.verdict === 'no') doubt = match
    }
  }
  return doubt
}

describe('a match of lists', () => {
  it.each(['companies', 'people'] as const)(
    'finds what a comparison of every row with every other finds: %s',
    async (kind) => {
      const seen = new Set<string>()
      for (let seed = 1; seed <= 12; seed++) {
        const random = createRandom(seed * 7_919)
        const file = generateTable(kind, 220, random)
        const lists = [generateTable(kind, 120, random), generateTable(kind, 80, random)]
        const known = lists.map(({ table }, at) =>
          tableList(`list ${at}`, table, mapList(table, 'list', kind)),
        )
        const matcher = await openMatcher(home, kind, known)
        const { mapping } = mapList(file.table, 'file', kind)
        const toFields = rowInput(mapping)
        for await (const rows of file.table.rows())
          for (const [at, { cells }] of rows.entries()) {
            const { verdict, by, list, lines } = matcher.find(toFields(cells))
            const expected = matchNaively(kind, file.facts[at] ?? {}, lists)
            expect([seed, cells, { verdict, by, list, lines }]).toEqual([seed, cells, expected])
            seen.add(`${verdict} ${by}`)
          }
      }
      expect(seen.size).toBeGreaterThanOrEqual(kind === 'companies' ? 8 : 6)
    },
  )

  it.each([
    ['Gruenwald Logistik', 'Grünwald Logistik GmbH & Co. KG', 'yes'],
    ['Grünwald Logistik', 'Gruenwald Logistik KG', 'yes'],
    ['Grunwald Logistik', 'Grünwald Logistik', 'yes'],
    ['Angstroem', 'Ångström AB', 'yes'],
    ['Ångström', 'Aangstroem', 'yes'],
    ['Angstrom', 'Ångström', 'yes'],
    ['Lumen Conseil SPRL', 'Lumen Conseil SRL', 'yes'],
    ['Vinted - HQ', 'Vinted, UAB', 'yes'],
    ['Block (formerly Square)', 'Block Inc.', 'yes'],
    ['Siemens - Energy', 'Siemens AG', 'no'],
    ['Blum', 'Bluem', 'no'],
  ])('reads names as a lookup does: %s is %s: %s', async (written, known, verdict) => {
    const tableOf = (...cells: string[]) => ({
      header: ['first_name', 'last_name', 'company_name', 'country'].slice(4 - cells.length),
      samples: [],
      notes: [],
      async *rows() {
        yield [{ line: 2, start: 0, cells }] as never
      },
    })
    for (const before of [[], ['Ann', 'Lee']]) {
      const kind = before.length === 0 ? 'companies' : 'people'
      const [table, other] = [written, known].map((name) => tableOf(...before, name, 'DE')) as [never, never]
      const matcher = await openMatcher(home, kind, [tableList('list', other, mapList(other, 'list', kind))])
      const { mapping } = mapList(table, 'file', kind)
      const cells = [...before, written, 'DE']
      expect([kind, matcher.find(rowInput(mapping)(cells)).verdict]).toEqual([kind, verdict])
    }
  })

  const who = ['full_name', 'company_name', 'email', 'network_url', 'company_domain']
  const profile = (slug: string) => `https://www.network.example/in/${slug}`

  it.each<[what: string, row: string[], known: string[][], verdict: string, lines: number[]]>([
    [
      'a name that two have',
      ['Ann Lee', 'Acme'],
      [
        ['Ann Lee', 'Acme', 'a@acme.example'],
        ['Ann Lee', 'Acme'],
      ],
      'maybe',
      [2, 3],
    ],
    [
      'a name of one who is there twice',
      ['Ann Lee', 'Acme'],
      [
        ['Ann Lee', 'Acme'],
        ['ANN LEE', 'Acme Inc.'],
      ],
      'yes',
      [2],
    ],
    [
      'a name of one with the same address twice',
      ['Ann Lee', 'Acme'],
      [
        ['Ann Lee', 'Acme', 'a@acme.example'],
        ['Ann Lee', 'Acme', 'a@acme.example', profile('ann')],
      ],
      'yes',
      [2],
    ],
    [
      'one name with two addresses',
      ['Ann Lee', 'Acme', 'a@acme.example'],
      [['Ann Lee', 'Acme', 'lee@acme.example']],
      'maybe',
      [2],
    ],
    [
      'a name that two have, of whom one has the profile',
      ['Ann Lee', 'Acme', '', profile('ann')],
      [
        ['Ann Lee', 'Acme'],
        ['Ann Lee', 'Acme', '', profile('ann')],
      ],
      'yes',
      [3],
    ],
    [
      'a name that one has at the domain, and another one at the company',
      ['Ann Lee', 'Acme', '', '', 'acme.example'],
      [
        ['Ann Lee', '', '', '', 'acme.example'],
        ['Ann Lee', 'Acme'],
      ],
      'maybe',
      [2, 3],
    ],
    ['letters that are spelled out', ['Jörg Müller', 'Acme'], [['Joerg Mueller', 'Acme']], 'yes', [2]],
    [
      'letters that are spelled out in the file',
      ['Bo Aangstroem', 'Acme'],
      [['Bo Ångström', 'Acme']],
      'yes',
      [2],
    ],
    ['letters of which one is', ['Bo Angstroem', 'Acme'], [['Bo Ångström', 'Acme']], 'yes', [2]],
    ['letters that nobody spells out', ['Michael Novak', 'Acme'], [['Michal Novak', 'Acme']], 'no', []],
  ])('decides about %s', async (_, row, known, verdict, lines) => {
    const tableOf = (rows: string[][]) => ({
      header: who,
      samples: [],
      notes: [],
      async *rows() {
        yield rows.map((cells, at) => ({
          line: at + 2,
          cells: who.map((_, column) => cells[column] ?? ''),
        })) as never
      },
    })
    const [table, other] = [tableOf([row]), tableOf(known)] as [never, never]
    const matcher = await openMatcher(home, 'people', [
      tableList('list', other, mapList(other, 'list', 'people')),
    ])
    const { mapping } = mapList(table, 'file', 'people')
    expect(matcher.find(rowInput(mapping)(who.map((_, at) => row[at] ?? '')))).toMatchObject({
      verdict,
      lines,
    })
  })

  it.each(['companies', 'people'] as const)(
    'finds in a long list what of a file is there, in another spelling, and nothing that only looks like it: %s',
    async (kind) => {
      const [asked, known] = tries([300, 2_000], [3_000, 20_000])
      const random = createRandom(4_711)
      const word = (at: number) =>
        [...at.toString(26)].map((digit) => 'abcdefghijklmnopqrstuvwxyz'[Number.parseInt(digit, 26)]).join('')
      const letters = ['ü', 'ö', 'ä', 'é', 'ø', 'å']
      const header =
        kind === 'companies' ? ['name', 'domain', 'country'] : ['full_name', 'email', 'company_name']
      const rowOf = (at: number): string[] => {
        const name = `Zorv${letters[at % 6]}x ${word(at)}q`
        if (kind === 'companies') return [name, at % 3 === 0 ? '' : `site-${at}.example`, 'DE']
        return [`Anna ${name}`, at % 3 === 0 ? '' : `anna.${at}@post.example`, `Firma ${word(at % 97)}k`]
      }
      const spelt: Spelling[] = [
        (text) => text.toUpperCase(),
        (text) => text.normalize('NFD'),
        (text) =>
          text
            .replace(/(?<=.)ü/g, 'ue')
            .replace(/(?<=.)ö/g, 'oe')
            .replace(/(?<=.)ä/g, 'ae'),
        (text) => `${text.slice(0, 3)}\u200b${text.slice(3)}`,
      ]
      const tableOf = (rows: readonly string[][]) => ({
        header,
        notes: [],
        samples: header.map((_, at) =>
          rows
            .slice(0, 100)
            .map((row) => row[at] ?? '')
            .filter(Boolean),
        ),
        async *rows() {
          yield rows.map((cells, at) => ({ cells, line: at + 2, start: 0 }))
        },
      })
      const list = tableOf(Array.from({ length: known }, (_, at) => rowOf(at)))
      // Every other row is about somebody in the list; the rest has the beginning of a name that is there.
      const rows = Array.from(
        { length: asked },
        (_, at): readonly [line: number | undefined, cells: string[]] => {
          const number = random.next(known)
          if (at % 2 === 0) return [number + 2, rowOf(number).map((cell) => random.pick(spelt)(cell))]
          const [name = '', , last = ''] = rowOf(number)
          return [undefined, [`${name}ux`, '', last]]
        },
      )
      const file = tableOf(rows.map(([, cells]) => cells))
      const matcher = await openMatcher(home, kind, [tableList('list', list, mapList(list, 'list', kind))])
      const toFields = rowInput(mapList(file, 'file', kind).mapping)
      const wrong = rows.flatMap(([line, cells]) => {
        const { verdict, lines } = matcher.find(toFields(cells))
        const expected = line === undefined ? ['no', undefined] : ['yes', line]
        return verdict === expected[0] && lines[0] === expected[1] ? [] : [[cells, verdict, lines, expected]]
      })
      expect(wrong).toEqual([])
    },
  )

  it('has the same fingerprint for the same rows in another order, and another one for other rows', async () => {
    const { table } = generateTable('companies', 50, createRandom(1))
    const other = generateTable('companies', 50, createRandom(2)).table
    const reversed = {
      ...table,
      async *rows() {
        for await (const rows of table.rows()) yield rows.toReversed()
      },
    }
    const prints = []
    for (const one of [table, reversed, other]) {
      const matcher = await openMatcher(home, 'companies', [
        tableList('list', one, mapList(one, 'list', 'companies')),
      ])
      prints.push(matcher.fingerprint)
    }
    expect([prints[0] === prints[1], prints[0] === prints[2]]).toEqual([true, false])
  })

  it.each(casesOf<[string[], string[], string]>('lists/match/recognises-what-the-rows'))(
    'recognises what the rows of %j are',
    (header, cells, kind) => {
      expect(mapList({ header, samples: cells.map((cell) => [cell]), notes: [] }, 'list').kind).toBe(kind)
    },
  )

  it('takes the fields of --map for what the rows are', () => {
    const table = {
      header: ['Name', 'Who', 'Site'],
      samples: [['Acme'], ['x@y.example'], ['acme.example']],
      notes: [],
    }
    expect(mapList(table, 'list', undefined, ['domain=Site']).kind).toBe('companies')
    expect(mapList(table, 'list', undefined, ['email=Who', 'full_name=Name']).kind).toBe('people')
    expect(() => mapList(table, 'list', undefined, ['nothing=Who'])).toThrow(
      expect.objectContaining({
        code: 'map.unknown_name',
        details: expect.objectContaining({ name: 'nothing' }),
      }),
    )
  })
})
