import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, command, errorOf, folder, keyed, removed } from '../../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

async function run(body: unknown, ...argv: string[]) {
  const caller = answering({ body: body as Record<string, unknown> })
  const ended = await command(argv, { env: keyed(home), cwd: home, caller })
  return { ended, calls: caller.asked.length }
}
const company = { name: 'Acme "One"', tags: ['a', 'b'], id: 12345678901234567890n, url: null }

describe('--jq', () => {
  it.each([
    ['.name', 'Acme "One"\n'],
    ['.tags[]', 'a\nb\n'],
    ['.tags', '["a","b"]\n'],
    ['.url', 'null\n'],
    ['{name} | keys', '["name"]\n'],
    ['try error("x") catch .', 'x\n'],
    ['empty', ''],
    ['-1', '-1\n'],
    ['"--help"', '--help\n'],
  ])('prints what %s makes of the reply', async (expression, printed) => {
    const { ended } = await run(company, 'accounts', 'enrich', 'acme.example', '--jq', expression)
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([0, printed, ''])
  })

  it('has the short form -q, and works for results of this machine', async () => {
    const { ended } = await run({}, 'config', 'list', '-q', '.profile')
    expect([ended.code, ended.stdout]).toEqual([0, 'default\n'])
  })

  it.each([
    ['.name |', 'syntax error'],
    ['nothing_like_it', 'not defined'],
    ['--help', 'not defined'],
    ['', 'not given'],
  ])('refuses %j before anything is sent', async (expression, said) => {
    const { ended, calls } = await run(company, 'accounts', 'enrich', 'acme.example', '--jq', expression)
    expect([ended.code, calls, ended.stdout]).toEqual([2, 0, ''])
    expect(errorOf(ended).error).toContain(said)
  })

  it('prints the whole answer where the expression fails on it, because it may have been paid for', async () => {
    const { ended } = await run({ name: 'Acme' }, 'accounts', 'enrich', 'acme.example', '--jq', '.name.first')
    expect([ended.code, ended.json]).toEqual([2, { name: 'Acme' }])
    expect(errorOf(ended).error).toContain('Cannot index string')
  })

  it.each([
    [['--fields', 'name'], '--fields'],
    [['--format', 'csv'], '--format csv'],
    [['--csv', 'x.csv'], '--csv'],
  ])('does not go with %j', async (options, named) => {
    const given = options[0] === '--csv' ? options : ['--domain', 'x.example', ...options]
    const { ended, calls } = await run(company, 'accounts', 'enrich', ...given, '--jq', '.name')
    expect([ended.code, calls, ended.stderr.includes(named)]).toEqual([2, 0, true])
  })

  it('prints the body of a refusal whole', async () => {
    const caller = answering({ status: 404, body: { error: 'No company found' } })
    const argv = ['accounts', 'enrich', 'x.example', '--jq', '.name']
    const ended = await command(argv, { env: keyed(home), cwd: home, caller })
    expect([ended.code, ended.json]).toEqual([9, { error: 'No company found' }])
  })
})
