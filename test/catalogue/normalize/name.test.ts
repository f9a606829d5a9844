import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanName, foldName, foldText, trailingForms } from '../../../src/identity/name.js'
import { tries } from '../../support/effort.js'
import { casesOf, rowsOf } from '../../support/fixtures.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('a folded company name', () => {
  it.each(rowsOf('spellings/names.tsv'))('is %s in all spellings', (folded, given = '') => {
    const spellings = given.split('|')
    expect(spellings.map(foldName)).toEqual(spellings.map(() => folded))
  })

  it.each(['SA', 'Co.', 'Limited', 'AB', 'GmbH & Co. KG', 'S.A.', '!!!', '株式会社', '+'])(
    'keeps something of "%s"',
    (name) => {
      expect(foldName(name)).not.toBe('')
    },
  )

  it.each(['SAS Institute', 'AB Volvo Trucks', 'SE Ranking'])('keeps the beginning of %s', (name) => {
    expect(foldName(name)).toBe(name.toLowerCase())
  })

  it('is empty for blank text', () => {
    expect(foldName('  ')).toBe('')
  })

  it('differs for names that differ by more than spelling', () => {
    const names = ['Acme', 'Acme France', 'Acme Group', 'Acmé Robotics', 'The Acme']
    expect(new Set(names.map(foldName)).size).toBe(names.length)
  })

  it('does not change when it is folded again, and is never empty', () => {
    const word = fc.oneof(
      fc.constantFrom(
        ...trailingForms(),
        '&',
        'and',
        'é',
        'S.',
        'A.',
        ',',
        '株式会社',
        'z o.o.',
        'de',
        'Sp.',
      ),
      fc.string({ unit: 'grapheme', maxLength: 8 }),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        const name = words.join(' ')
        const folded = foldName(name)
        expect(foldName(folded)).toBe(folded)
        expect(folded === '').toBe(name.trim() === '')
      }),
      { seed, numRuns: tries(500, 2_000) },
    )
  })
})

describe('a company name without its legal form', () => {
  it.each(casesOf<[string, string]>('catalogue/normalize/name/of-is'))('of %s is %s', (name, cleaned) => {
    expect(cleanName(name)).toBe(cleaned)
  })
})

describe('folded text', () => {
  it.each([
    ['Jean-François', 'jean francois'],
    ['Łukasz', 'lukasz'],
    ['E-Mail', 'e mail'],
    ['한국', '한국'],
    ['が', 'が'],
  ])('of %s is %s', (text, folded) => {
    expect(foldText(text)).toBe(folded)
  })
})
