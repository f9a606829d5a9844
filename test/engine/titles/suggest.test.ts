import { expect, it, vi } from 'vitest'
import vocabulary from '../../../src/engine/titles/families.json' with { type: 'json' }
import { hasWords, suggestTitles } from '../../../src/engine/titles/suggest.js'
import { perTest } from '../../support/each.js'
import { openBench } from '../../support/engine.js'

const bench = perTest(openBench)

const of = (selectionType: string, asked: readonly string[]) =>
  suggestTitles(asked)
    .filter((suggestion) => suggestion.selectionType === selectionType)
    .map(({ jobTitle }) => jobTitle)

it('suggests titles in English and French, and keywords to exclude', async () => {
  const reply = await bench.call('titles.suggest', { job_titles: ['Head of Sales'] })
  expect(reply).toMatchObject({ status: 200, credits: 0 })
  const { suggestions } = reply.body as { suggestions: unknown[] }
  for (const jobTitle of ['VP Sales', 'Directeur commercial', 'Directrice commerciale'])
    expect(suggestions).toContainEqual({ jobTitle, selectionType: 'INCLUDED' })
  expect(suggestions).toContainEqual({ jobTitle: 'stagiaire', selectionType: 'EXCLUDED' })
})

it('returns an empty list when it knows nothing', async () => {
  const reply = await bench.call('titles.suggest', { job_titles: ['Falconer', '!!', '()'] })
  expect(reply).toMatchObject({ status: 200, body: { suggestions: [] } })
})

it.each([
  ['DIRECTRICE FINANCIERE', 'CFO'],
  ['Senior Data Engineer, EMEA', 'Analytics Engineer'],
  ['Comptable (H/F)', 'Accountant'],
  ['Directeur  des Opérations', 'COO'],
])('knows %s as %s', (asked, title) => {
  expect(of('INCLUDED', [asked])).toContain(title)
})

it.each(['Assistant to the CEO', 'Former CTO', 'Stagiaire marketing manager', 'Ceonella'])(
  'does not take %s for the role inside it',
  (asked) => {
    expect(suggestTitles([asked])).toEqual([])
  },
)

it('returns each title once, even for duplicate questions', () => {
  const included = of('INCLUDED', ['CEO', 'ceo', 'Directeur général', 'Founder'])
  expect(new Set(included).size).toBe(included.length)
})

it('never excludes a keyword of a title that is asked for or included, for two roles at once', () => {
  for (const [at, { titles }] of vocabulary.families.entries()) {
    const other = vocabulary.families[(at + 1) % vocabulary.families.length]
    const asked = [titles[0] ?? '', other?.titles.at(-1) ?? '']
    const wanted = [...asked, ...of('INCLUDED', asked)]
    const clashes = of('EXCLUDED', asked).filter((keyword) =>
      wanted.some((title) => hasWords(title, keyword)),
    )
    expect([asked, clashes]).toEqual([asked, []])
  }
})

it('has every title in one role only', () => {
  const titles = vocabulary.families.flatMap((family) => family.titles)
  expect(new Set(titles).size).toBe(titles.length)
})

/** What is suggested where people hold these titles. */
async function suggested(held: readonly string[], ...job_titles: string[]) {
  Object.assign(bench.source, { titlesLike: () => held })
  const { body } = await bench.call('titles.suggest', { job_titles })
  const { suggestions } = body as { suggestions: { jobTitle: string; selectionType: string }[] }
  return (type: string) =>
    suggestions.filter(({ selectionType }) => selectionType === type).map(({ jobTitle }) => jobTitle)
}

it('adds the titles that people hold, after its own', async () => {
  const suggestions = await suggested(['Directeur commercial Europe', 'VP Sales'], 'Head of Sales')
  const included = suggestions('INCLUDED')
  expect(included.at(-1)).toBe('Directeur commercial Europe')
  expect(included.filter((title) => title === 'VP Sales')).toHaveLength(1)
})

it('knows a title that only people hold, and the exclusions of any role', async () => {
  const of = await suggested(['Falconer', 'Head Falconer', 'Assistant Falconer'], 'Falconer')
  expect(of('INCLUDED')).toEqual(['Head Falconer'])
  expect(of('EXCLUDED')).toContain('assistant')
})

it('returns an empty list when people hold the asked title and no other', async () => {
  const of = await suggested(['Falconer', 'FALCONER (F/H)', 'Junior intern falconer'], 'Falconer')
  expect([of('INCLUDED'), of('EXCLUDED')]).toEqual([[], []])
})

it('includes no title that has a keyword it excludes', async () => {
  const held = ['Ancien CEO', 'CEO intern', 'Junior CEO', 'Group CEO', 'Assistant to the CEO']
  for (const asked of [['CEO'], ['CEO', 'Assistant'], ['Falconer'], ['Intern'], ['CEO', 'Founder', 'CTO']]) {
    bench.clock.advance(60_000)
    const of = await suggested(held, ...asked)
    const clashes = of('INCLUDED').filter((title) =>
      of('EXCLUDED').some((keyword) => hasWords(title, keyword)),
    )
    expect([asked, clashes]).toEqual([asked, []])
  }
})

it('reads each word of a hundred long titles once, not once for every title that it knows', () => {
  const asked = Array.from({ length: 100 }, (_, at) => `${'Äußerst langer Titel '.repeat(20)}${at}`)
  suggestTitles(['CEO'])
  const normalize = vi.spyOn(String.prototype, 'normalize')
  suggestTitles(asked)
  const times = normalize.mock.calls.length
  normalize.mockRestore()
  expect(times).toBe(asked.length)
})
