import { expect, it } from 'vitest'
import { perFile } from '../../support/each.js'
import { openWith } from '../open.js'

const titles = [
  'Head Falconer',
  'head falconer',
  'Falconer',
  'Falconer, Head of Birds',
  'Hôte d’accueil',
  'VP R&D',
  undefined,
]
const people = titles.map((title, at) => ({ email: `jo${at}@a.example`, title }))
const catalogue = perFile(() => openWith([], { people }))

it.each<[string, string[]]>([
  ['falconer', ['Head Falconer', 'Falconer', 'Falconer, Head of Birds']],
  ['HEAD, falconer!', ['Head Falconer', 'Falconer, Head of Birds']],
  ['hote accueil', ['Hôte d’accueil']],
  ['R&D', ['VP R&D']],
  ['falcon', []],
  ['', []],
  ['!!', []],
  ['" OR *', []],
  ['title : falconer NEAR(', []],
  ['x'.repeat(10_000), []],
])('finds titles similar to %s, most frequent first', async (title, expected) => {
  expect(await catalogue.titlesLike(title, 10)).toEqual(expected)
})

it('returns at most as many titles as the limit', async () => {
  expect(await catalogue.titlesLike('falconer', 1)).toEqual(['Head Falconer'])
})
