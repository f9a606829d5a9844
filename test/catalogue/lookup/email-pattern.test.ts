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

/** Examples as fixtures have them: `Ada|King|aking; Ivy|Reed|ireed`. */
const examplesIn = (text: string): EmailExample[] =>
  text
    .split('; ')
    .map((one) => one.split('|'))
    .flatMap(([first, last, local]) => (first && last && local ? [example(first, last, local)] : []))

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
      expect(guessed([...colleagues(template), ...examplesIn(telling)], first, last)).toBe(local)
    },
  )
})

describe('an email pattern', () => {
  it.each(casesOf<[string, string, string | null]>('catalogue/lookup/email-pattern/learnt'))(
    'is learnt from two different examples that agree, and are more than half: %s',
    (_, text, template) => {
      expect(learnPattern(examplesIn(text))?.template ?? null).toBe(template)
    },
  )

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
