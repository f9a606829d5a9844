import { describe, expect, it } from 'vitest'
import { answering, stockedMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'

const here = perTest(stockedMachine)
const run = (body: object, line: string, expression: string) =>
  here.run([...line.split(' '), '--jq', expression], { caller: answering({ body }) })
const company = { name: 'Acme "One"', tags: ['a', 'b'], id: 12345678901234567890n, url: null }

describe('--jq', () => {
  it.each(casesOf<[string, string]>('cli/output/jq/prints-what-makes-of'))(
    'prints what %s makes of the reply',
    async (expression, printed) => {
      const ended = await run(company, 'accounts enrich acme.example', expression)
      expect([ended.code, ended.stdout, ended.stderr]).toEqual([0, printed, ''])
    },
  )

  it('has the short form -q, and works for results of this machine', async () => {
    const { code, stdout } = await here.run('config list -q .profile')
    expect([code, stdout]).toEqual([0, 'default\n'])
  })

  it('prints the whole answer where the expression fails on it, because it may have been paid for', async () => {
    const ended = await run({ name: 'Acme' }, 'accounts enrich acme.example', '.name.first')
    expect([ended.code, ended.json]).toEqual([2, { name: 'Acme' }])
    expect(ended.stderr).toContain('Cannot index string')
  })

  it.each([
    ['an answer that is free', 'account', { name: 'Acme' }],
    ['a result of this machine', 'config list', {}],
  ])('prints nothing where the expression fails on %s', async (_, line, body) => {
    const { code, stdout } = await run(body, line, 'map(.name.first + 1)')
    expect([code, stdout]).toEqual([2, ''])
  })

  it('prints a new key whole where the expression fails on it, because a key is shown once', async () => {
    const { member } = await here.json<{ member: string }>('init --yes')
    const ended = await here.run(['engine', 'keys', 'create', '--member', member, '--jq', '.key.first'])
    expect([ended.code, ended.json]).toEqual([2, expect.objectContaining({ key: expect.any(String) })])
  })

  it('prints the body of a refusal whole', async () => {
    const caller = answering({ status: 404, body: { error: 'No company found' } })
    const ended = await here.run('accounts enrich x.example --jq .name', { caller })
    expect([ended.code, ended.json]).toEqual([9, { error: 'No company found' }])
  })
})

it('--jq is applied to the quote of a file, which has its mapping, and to the quote of a recorded run', async () => {
  here.write('in.csv', 'name,domain\nA,a.example\nB,b.example\n')
  const file = ['accounts', 'enrich', '--csv', 'in.csv']
  const quoted = await here.run([...file, '--dry-run', '--jq', '.credits.max'])
  const mapped = await here.run([...file, '--dry-run', '--jq', '.mapping.columns[].column'])
  await here.run([...file, '--rows', '1'])
  const resumed = await here.run(['runs', 'resume', '--last', '--rows', '2', '--dry-run', '--jq', '.lookups'])
  expect([quoted.stdout, mapped.stdout, resumed.stdout]).toEqual(['2\n', 'name\ndomain\n', '1\n'])
})

it('--jq with many records is applied to each record of data export, and refuses the rows of a recorded run', async () => {
  const stdin = `name,domain\n${Array.from({ length: 1_200 }, (_, at) => `C${at},c${at}.example\n`).join('')}`
  await here.fill('companies', stdin)
  const exported = await here.run(`data export companies --jq 'select(.name | endswith("99")) | .domain'`)
  expect([
    exported.code,
    exported.stdout.split('\n').slice(0, 2),
    exported.stdout.split('\n').length,
  ]).toEqual([0, ['c99.example', 'c199.example'], 13])
  const file = await here.run('data export companies -q .missing.name -o out.json')
  expect([file.code, (await here.run('data export companies -q .name.x')).code]).toEqual([0, 2])
  await here.run('accounts enrich --csv - --rows 1', { stdin })
  for (const verb of ['export', 'resume']) {
    const refused = await here.run(['runs', verb, '--last', '--jq', '.name'])
    expect([verb, refused.code, refused.stdout, refused.stderr]).toEqual([
      verb,
      2,
      '',
      expect.stringContaining('--jq cannot be used with'),
    ])
  }
})
