import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanName, foldName, foldText, trailingForms } from '../../../src/catalogue/normalize/name.js'
import { tries } from '../../support/effort.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('a folded company name', () => {
  it.each([
    [
      'acme',
      [
        'Acme',
        'ACME',
        ' acme ',
        'Acme Inc',
        'Acme, Inc.',
        'Acme LLC',
        'ACME LTD.',
        'Acme GmbH',
        'Acme S.A.',
        'Acme S. A.',
        'Acme S.A.S.',
        'Acme SARL',
        'SARL Acme',
        'Acme S.L.',
        'Acme Oy',
        'Acme AB',
        'Acme A/S',
        'Acme B.V.',
        'Acme Pty Ltd',
        'Acme Pty. Ltd.',
        'Acme Co.',
        'Acme Co., Ltd.',
        'Acme & Co. KG',
        'Acme GmbH & Co. KG',
        'Acme S.A. de C.V.',
        'Acme Sp. z o.o.',
        'Acme s.r.o.',
        'ООО Acme',
        '株式会社Acme',
        'Acme株式会社',
        '(株)Acme',
        '㈱Acme',
      ],
    ],
    ['societe horizon', ['Société Horizon', 'SOCIETE HORIZON', 'Societe  Horizon SAS', 'société-horizon']],
    ['birchwood and sons', ['Birchwood & Sons Ltd', 'Birchwood and Sons', 'BIRCHWOOD&SONS']],
    ['oreilly', ["O'Reilly", 'O’Reilly Inc.', 'OREILLY']],
    ['abc systems', ['A.B.C. Systems', 'ABC Systems', 'A B C Systems']],
    ['booking com', ['Booking.com', 'Booking.com B.V.']],
    ['grossmann', ['Großmann GmbH', 'Grossmann']],
    ['トヨタ自動車', ['トヨタ自動車株式会社', '株式会社トヨタ自動車']],
  ])('is %s in all spellings', (folded, spellings) => {
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
      fc.constantFrom(...trailingForms, '&', 'and', 'é', 'S.', 'A.', ',', '株式会社', 'z o.o.', 'de', 'Sp.'),
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
  it.each([
    ['Acme Robotics GmbH', 'Acme Robotics'],
    ['Brightwater Analytics, Inc.', 'Brightwater Analytics'],
    ['Grünwald Logistik GmbH & Co. KG', 'Grünwald Logistik'],
    ['Paloma Pagos S.A. de C.V.', 'Paloma Pagos'],
    ['Kinoshita Motors 株式会社', 'Kinoshita Motors'],
    ['Zephyr Cloud', 'Zephyr Cloud'],
    ['GmbH', 'GmbH'],
    ['  Zephyr Cloud ', 'Zephyr Cloud'],
    ['Birchwood & Sons', 'Birchwood & Sons'],
  ])('of %s is %s', (name, cleaned) => {
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
