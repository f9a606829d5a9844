import { describe, expect, it } from 'vitest'
import { reportOf } from '../../src/cli/messages.js'
import { parseExpression } from '../../src/lists/expressions.js'
import { casesOf } from '../support/fixtures.js'

const fields = [
  'name',
  'headcount',
  'email_status',
  'country',
  'is_public',
  'jobs',
  'body',
  'status',
  'company',
] as const
const scope = {
  ...Object.fromEntries(fields.map((name) => [name, true] as const)),
  company: { name: true, industry: true, country: { is: 'text', isCountry: true } },
  input: { 'Record ID': true, Country: true },
} as const
const nothing = { ...Object.fromEntries(fields.map((name) => [name, null])), input: {} }

/** Returns whether a condition is true of values, and whether a comparison was in doubt. */
async function evaluate(text: string, values: object) {
  const expression = await parseExpression(text, scope, 'where')
  const found = expression.test({ ...nothing, ...values })
  return [found, expression.doubtful]
}

describe('an expression', () => {
  it('is read where a field has a name that CEL keeps for itself, such as function of a person', async () => {
    const expression = await parseExpression('title == "CTO"', { title: true, function: true }, 'where')
    expect(expression.test({ title: 'CTO', function: 'Engineering' })).toBe(true)
  })

  it.each([
    ...casesOf<[string, object, boolean]>('lists/expressions/evaluates'),
    [
      'headcount > 9007199254740990',
      { headcount: { isLosslessNumber: true, toString: () => '9007199254740993' } },
      true,
    ] as const,
  ])('%s is evaluated without doubt', async (text, values, expected) => {
    expect(await evaluate(text, values)).toEqual([expected, 0])
  })

  it.each(casesOf<[string, Record<string, unknown>, boolean]>('lists/expressions/compares-nothing-with-a'))(
    '%s compares nothing with a missing value or one of another type, and counts that',
    async (text, values, expected) => {
      expect(await evaluate(text, values)).toEqual([expected, 1])
    },
  )

  it.each([
    ...casesOf<[string, string, string]>('lists/expressions/refuses'),
    [`${'('.repeat(60)}true${')'.repeat(60)}`, 'too large', ''],
    [Array(150).fill('status == 1').join('||'), 'too large', ''],
    [`headcount in [${Array(201).fill(1).join()}]`, 'too large', ''],
    [`name == "${'x'.repeat(5_000)}"`, 'longer than 4,096 bytes', ''],
  ])('refuses %s, and says where and what to write', async (text, problem, hint) => {
    const refusal = await parseExpression(text, scope, 'where').catch((error: unknown) => error)
    expect(reportOf(refusal)).toMatchObject({
      exit_code: 2,
      error: expect.stringContaining(problem),
      hint: expect.stringContaining(hint),
    })
  })
})
