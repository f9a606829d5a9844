import { beforeAll, expect, it } from 'vitest'
import { ends, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { rowsOf } from '../support/fixtures.js'

const brands = rowsOf('brands/brands.tsv') as [name: string, domain: string][]

/** A name as people write it. */
const names: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `  ${name.toLowerCase()} `,
  (name) => `${name}, Inc.`,
  (name) => `${name} GmbH`,
  (name) => `${name} S.A.`,
  (name) => `The ${name}`,
  (name) => `${name}™`,
  (name) => `“${name}”`,
  (name) => `\u200b${name.replaceAll(' ', '\u00a0')}\u00a0`,
  (name) => name.replaceAll('&', 'and'),
  (name) => name.replaceAll("'", '’'),
  (name) => `${name} (US)`,
  (name) => `${name}, Inc. – Berlin`,
  (name) => `${name} - EMEA,`,
  (name) => name.normalize('NFD'),
]

/** A domain as people write it. */
const domains: readonly ((domain: string) => string)[] = [
  (domain) => domain,
  (domain) => `https://www.${domain}/`,
  (domain) => `  ${domain.toUpperCase()}.`,
  (domain) => `shop.${domain}`,
  (domain) => `info@${domain}`,
  (domain) => `Bob <bob@${domain}>`,
  (domain) => `http:/${domain}`,
  (domain) => `http//www.${domain}`,
  (domain) => `https://https://${domain}`,
  (domain) => `www ${domain}`,
  (domain) => `${domain},`,
  (domain) => `"${domain}"\u00a0`,
  (domain) => `(${domain})`,
  (domain) => `${domain}, ${domain}/fr`,
  (domain) => `Website: ${domain}`,
  (domain) => `${domain} (main site)`,
]

const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`

/** Random numbers that are the same every time. */
function createRandom(seed: number): <T>(list: readonly T[]) => T {
  let state = seed
  return (list) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return list[state % list.length] as (typeof list)[number]
  }
}

const here = perFile(machine)
beforeAll(async () => {
  here.write('brands.tsv', ['name\tdomain', ...brands.map((row) => row.join('\t'))].join('\n'))
  // A domain of mailboxes is refused, because its row names another company than its owner.
  expect((await here.run('data import companies brands.tsv')).code).toBe(11)
  await here.run('engine credits add 10000')
})

it('finds all of 2,214 brands by name but those whose name two of them have, and none wrongly', async () => {
  const named = Map.groupBy(brands, ([name]) => name)
  // Mailboxes at the domain of one brand are anybody's, so that the catalogue does not have it.
  const unsure = brands.filter(([name]) => name === 'Yandex Cloud' || named.get(name)?.length !== 1)
  here.write('names.csv', ['Company', ...brands.map(([name]) => quote(name))].join('\n'))
  await ends(here.run('accounts enrich --csv names.csv --fields domain --fail-on none -o named.csv'), 0)
  const found = here.rows('named.csv').map(({ domain }) => domain)
  expect(found).toEqual(brands.map((brand) => (unsure.includes(brand) ? '' : brand[1])))
  expect([found.length, unsure.length]).toEqual([2_214, 9])
})

it('finds 99 of 100 companies in 2,000 rows as people write them, and none wrongly', async () => {
  const pick = createRandom(20_261_125)
  const rows = Array.from({ length: 2_000 }, () => {
    const [name, domain] = pick(brands)
    const [written, site] = [pick(names)(name), pick(domains)(domain)]
    const cells = pick([
      [written, site],
      [written, ''],
      ['', site],
      [`https://${domain}/`, ''],
      ['', name],
    ])
    return { domain, cells }
  })
  here.write(
    'list.csv',
    ['Company,Website', ...rows.map(({ cells }) => cells.map(quote).join(','))].join('\n'),
  )
  await ends(here.run('accounts enrich --csv list.csv --fields domain --fail-on none -o out.csv'), 0)
  const found = here.rows('out.csv')
  const wrong = found.flatMap((row, at) =>
    row._status === 'found' && row.domain !== rows[at]?.domain ? [[rows[at], row.domain]] : [],
  )
  expect(wrong).toEqual([])
  expect(found.filter(({ _status }) => _status === 'found').length).toBeGreaterThanOrEqual(1_980)
})
