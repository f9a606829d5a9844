import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EmailExample, learnPattern } from '../../../src/catalogue/lookup/providers.js'
import { anyCodePoint } from '../../support/any-text.js'
import { tries } from '../../support/effort.js'
import { casesOf, rowsOf } from '../../support/fixtures.js'

/** A simple name in a template, made without the code under test. */
const filled = (template: string, first: string, last: string): string =>
  template
    .replace('{first}', first)
    .replace('{last}', last)
    .replace('{f}', first.charAt(0))
    .replace('{l}', last.charAt(0))
    .toLowerCase()

const example = (first: string, last: string, local: string): EmailExample => ({ first, last, local })
const colleagues = (template: string): EmailExample[] =>
  [
    ['Grace', 'Hopper'],
    ['Alan', 'Turing'],
  ].map(([first = '', last = '']) => example(first, last, filled(template, first, last)))

const guessed = (examples: readonly EmailExample[], first: string, last: string): string | undefined =>
  learnPattern(examples)?.localPart({ first, last })

describe('an address that is guessed from a name', () => {
  it.each(
    casesOf<[string, string, string, string]>('catalogue/lookup/email-pattern/follows-the-pattern-becomes'),
  )('follows the pattern %s: %s %s becomes %s', (template, first, last, local) => {
    expect(guessed(colleagues(template), first, last)).toBe(local)
    expect(learnPattern(colleagues(template))?.template).toBe(template)
  })

  it.each([
    ['a name in another script', '{first}.{last}', 'Юрий', 'Гагарин'],
    ['an initial where the whole name is needed', '{first}.{last}', 'A.', 'Lovelace'],
    ['a last name that is an initial', '{f}{last}', 'Ada', 'L.'],
    ['a name without letters', '{first}.{last}', '---', '!!!'],
    ['a blank part', '{first}.{last}', '', 'Lovelace'],
    ['a name that is too long', '{first}.{last}', 'Ada', 'x'.repeat(64)],
  ])('is not made of %s', (_, template, first, last) => {
    expect(guessed(colleagues(template), first, last)).toBeUndefined()
  })

  it('needs only the parts of the name that are in the pattern', () => {
    expect(guessed(colleagues('{f}{last}'), 'A.', 'Lovelace')).toBe('alovelace')
    expect(guessed(colleagues('{first}'), 'Ada', 'L.')).toBe('ada')
  })
})

describe('names of several words are spelt as in the addresses of colleagues', () => {
  it.each(rowsOf('spellings/email-patterns.tsv'))(
    'in this way: %s',
    (_, template = '', first = '', last = '', local, telling = '') => {
      const others = telling
        .split('; ')
        .map((one) => example(...(one.split('|') as [string, string, string])))
      expect(guessed([...colleagues(template), ...others], first, last)).toBe(local)
    },
  )
})

describe('an email pattern', () => {
  const [grace, alan] = colleagues('{first}.{last}') as [EmailExample, EmailExample]
  const odd = [example('Ada', 'King', 'queen'), example('Ivy', 'Reed', 'info'), example('Max', 'Born', 'mb7')]

  it('needs two examples that agree', () => {
    expect(learnPattern([])).toBeUndefined()
    expect(learnPattern([grace])).toBeUndefined()
    expect(learnPattern([grace, ...colleagues('{f}{last}').slice(1)])).toBeUndefined()
    expect(learnPattern([grace, alan])).toBeDefined()
  })

  it('needs two different examples', () => {
    expect(learnPattern([grace, { ...grace }, { ...grace }])).toBeUndefined()
  })

  it('needs more than half of the examples', () => {
    expect(learnPattern([grace, alan, ...odd.slice(0, 1)])).toBeDefined()
    expect(learnPattern([grace, alan, ...odd.slice(0, 2)])).toBeUndefined()
    expect(learnPattern([grace, alan, ...odd])).toBeUndefined()
  })

  it('is the pattern of the majority', () => {
    const others = [example('Ada', 'King', 'aking'), example('Ivy', 'Reed', 'ireed')]
    expect(learnPattern([grace, alan, ...others])).toBeUndefined()
    const third = example('Max', 'Born', 'max.born')
    expect(learnPattern([grace, alan, third, ...others])?.template).toBe('{first}.{last}')
  })

  it('is undefined when the examples fit two patterns', () => {
    const twice = [example('Ann', 'Ann', 'ann'), example('Lee', 'Lee', 'lee')]
    expect(learnPattern(twice)).toBeUndefined()
    expect(learnPattern([...twice, example('Ada', 'King', 'ada')])?.template).toBe('{first}')
  })

  it('is undefined when the examples fit no pattern', () => {
    expect(learnPattern(odd)).toBeUndefined()
  })

  const name = fc
    .tuple(fc.stringMatching(/^[A-Z][a-z]{2,9}$/), fc.stringMatching(/^[A-Z][a-z]{2,9}$/))
    .filter(([first, last]) => first !== last)
  const template = fc.constantFrom(
    '{first}.{last}',
    '{first}_{last}',
    '{f}.{last}',
    '{first}-{last}',
    '{last}.{first}',
    '{first}.{l}',
    '{f}_{last}',
    '{last}-{f}',
    '{l}.{first}',
    '{last}_{first}',
  )

  it('produces the right address for everyone whose colleagues follow a template', () => {
    const people = fc.uniqueArray(name, { minLength: 3, maxLength: 12, selector: (one) => one.join(' ') })
    fc.assert(
      fc.property(template, people, (form, [newcomer, ...others]) => {
        const [first = '', last = ''] = newcomer ?? []
        const examples = others.map(([f, l]) => example(f, l, filled(form, f, l)))
        fc.pre(new Set(examples.map(({ local }) => local)).size >= 2)
        expect(guessed(examples, first, last)).toBe(filled(form, first, last))
      }),
    )
  })

  it('reproduces the addresses it was learnt from', () => {
    const word = fc.constantFrom('Jean-Luc', 'Mary Ann', 'Zoé', 'Jürgen', 'Ada', 'Lou Anne-Marie', 'Li')
    const family = fc.constantFrom('de la Cruz', 'García Márquez', 'Groß', 'Roux', 'van Dyk', 'Bey', 'Ek')
    const people = fc.uniqueArray(fc.tuple(word, family), {
      minLength: 3,
      maxLength: 12,
      selector: (one) => one.join(' '),
    })
    fc.assert(
      fc.property(template, people, (form, all) => {
        const seeds = colleagues(form)
        const made = all.map(([first, last]) => example(first, last, guessed(seeds, first, last) ?? ''))
        fc.pre(new Set(made.map(({ local }) => local)).size === made.length)
        const pattern = learnPattern(made)
        expect(made.map((one) => pattern?.localPart(one))).toEqual(made.map(({ local }) => local))
      }),
    )
  })

  it('is learnt from any text, and applied to any text, without throwing', () => {
    const text = fc.string({ unit: anyCodePoint, maxLength: 20 })
    const any = fc.record({ first: text, last: text, local: text })
    fc.assert(
      fc.property(fc.array(any, { maxLength: 5 }), any, (examples, one) => {
        const local = learnPattern(examples)?.localPart(one)
        if (local !== undefined) expect(local).toMatch(/^[a-z0-9][a-z0-9._-]*$/)
      }),
      { numRuns: tries(8, 50) },
    )
  })
})
