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
    ['headcount >= 50 && country in ["DE", "AT"]', { headcount: 60, country: 'DE' }, true],
    ['headcount == 50', { headcount: 50 }, true],
    ['headcount == 50.0 && headcount < 50.5', { headcount: 50 }, true],
    ['status in [200, 404]', { status: 404 }, true],
    ['headcount / 4 > 12 && headcount + 1 == 51 && -headcount < 0', { headcount: 50 }, true],
    [
      'headcount > 9007199254740990',
      { headcount: { isLosslessNumber: true, toString: () => '9007199254740993' } },
      true,
    ],
    ['size(jobs) > 1 && jobs.size() == 2', { jobs: [1, 2] }, true],
    ['body.data.email != null', { body: {} }, false],
    ['body.data.email == null', {}, true],
    ['has(body.data.email)', { body: { data: { email: 'a@b.example' } } }, true],
    ['input["Record ID"] == "7"', { input: { 'Record ID': '7' } }, true],
    ['double(input["Record ID"]) > 5', { input: { 'Record ID': '7' } }, true],
    ['jobs[0].title == "CTO" && jobs[5].title == null', { jobs: [{ title: 'CTO' }] }, true],
    ['jobs.exists(j, j.title == "CTO")', { jobs: [{}, { title: 'CTO' }] }, true],
    [
      'jobs.filter(j, j.level == 2).map(j, j.title).exists(t, t == "CTO")',
      { jobs: [{ title: 'CTO', level: 2 }] },
      true,
    ],
    ['name.substring(0, 2) == "Ac" && name.contains("m") && name.endsWith("e")', { name: 'Acme' }, true],
    ['company.name.startsWith("A") ? true : false', { company: { name: 'Acme' } }, true],
    ['name == \'it"s\\n\' || name == "Zürich"', { name: 'Zürich' }, true],
    ['is_public', { is_public: true }, true],
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
    ['headcount > 5 and is_public', 'character 15', 'Write && for and, || for or'],
    ['headcount > 5 OR is_public', 'character', '|| for or'],
    ['headcount = 5', 'character 11', 'Write == to compare.'],
    ['headcount <> 5', 'character 12', 'Write != for not equal.'],
    ['emial_status == "x"', 'there is no field emial_status (character 1)', 'Did you mean email_status?'],
    [
      'headcount > 1 && (country == "DE" || naem == "x")',
      'there is no field naem (character 38)',
      'Did you mean name?',
    ],
    ['company.nme == "x"', 'company.nme (character 9)', 'Did you mean company.name?'],
    ['company.is_public', 'company.is_public (character 9)', 'Did you mean is_public?'],
    ['account.headcount > 5', 'there is no field account (character 1)', 'Did you mean headcount?'],
    ['industry == "x"', 'industry', 'Did you mean company.industry?'],
    ['Country == "FR"', 'Country', 'Did you mean input["Country"]?'],
    ['input["Record"] == "1"', '(character 7)', 'Did you mean input["Record ID"]?'],
    [
      'company.country == "Germany"',
      'company.country is never "Germany" (character 20)',
      'Did you mean "DE"?',
    ],
    ['company.country in ["DE", "sverige"]', 'is never "sverige"', 'Did you mean "SE"?'],
    ['"Narnia" != company.country', 'is never "Narnia"', 'It can be: a country code of two letters.'],
    ['name.matches("^(a+)+$")', 'matches is not available', 'Use contains, startsWith or endsWith.'],
    ['matches(name, "a")', 'matches is not available', 'Use contains'],
    [
      'jobs.exists(j, jobs.exists(k, k == j))',
      'exists within another one is not available (character 16)',
      '',
    ],
    ['foo(1)', 'foo is no function', ''],
    ['name.foo()', 'foo is no function', ''],
    ['body.?email == "x"', 'character 6', ''],
    ['(headcount > 5', 'ends too early', ''],
    ['', 'ends too early', ''],
    ['"abc', 'unterminated string', ''],
    ['headcount + 1', 'a value, and no condition', ''],
    ['1 + "a" == 2', 'character 1', ''],
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
