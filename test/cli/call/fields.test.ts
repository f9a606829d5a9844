import { describe, expect, it } from 'vitest'
import { answering, command, errorOf, type Given, keyed, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const run = (argv: string, body: unknown, given: Given = {}) => {
  const caller = answering({ body: body as Record<string, unknown> })
  return command(argv.split(' '), { env: keyed(here.home), cwd: here.home, caller, ...given }).then(
    (ended) => ({
      ended,
      calls: caller.asked.length,
    }),
  )
}

const credits = {
  credits: { enrichment: 7, daily_profile_scraping: 1 },
  limits: { daily_profile_scraping: 2 },
}
const company = { name: 'Acme', cleaned_name: 'acme', domain: 'acme.example' }

describe('--fields', () => {
  it('accepts the last part of a name where it is unambiguous', async () => {
    const { ended } = await run('credits --fields enrichment', credits)
    expect([ended.code, ended.json]).toEqual([0, { credits: { enrichment: 7 } }])
  })

  it('accepts a name in any spelling, and that of an object for its fields', async () => {
    const { ended } = await run('accounts enrich acme.example --fields cleaned-name,Domain', company)
    expect(ended.json).toEqual({ cleaned_name: 'acme', domain: 'acme.example' })
    expect((await run('credits --fields limits', credits)).ended.json).toEqual({ limits: credits.limits })
  })

  it.each([
    [
      'credits --fields daily_profile_scraping',
      'credits.daily_profile_scraping or limits.daily_profile_scraping',
    ],
    ['credits --fields enrichmnt', 'Did you mean credits.enrichment?'],
    ['credits --fields credits.enrichmnt', 'Did you mean credits.enrichment?'],
    ['accounts enrich acme.example --fields domian', 'Did you mean domain?'],
    ['accounts enrich acme.example --fields name.first', 'which the result does not have'],
    ['contacts get x --fields emial', 'Did you mean email?'],
  ])('refuses a wrong name before anything is sent: %s', async (argv, said) => {
    const { ended, calls } = await run(argv, credits)
    expect([ended.code, calls, ended.stdout]).toEqual([2, 0, ''])
    expect(`${errorOf(ended).error} ${errorOf(ended).hint}`).toContain(said)
  })

  it('prints the whole answer with a warning where only the answer could have the name', async () => {
    const body = { id: 'x', email: 'a@b.example', custom: { crm: 1 } }
    const known = await run('contacts get x --fields custom.crm', body)
    expect([known.ended.json, known.ended.stderr]).toEqual([{ custom: { crm: 1 } }, ''])
    const { ended } = await run('contacts get x --fields custom.other', body)
    expect([ended.code, ended.json]).toEqual([0, body])
    expect(ended.stderr).toContain('The result has no field "custom.other"')
  })

  it('refuses names that a result of this machine does not have', async () => {
    const { ended } = await run('config list --fields timeot', {})
    expect([ended.code, ended.stdout]).toEqual([2, ''])
    expect(errorOf(ended).hint).toContain('Did you mean timeout?')
    expect((await run('config list --fields timeout', {})).ended.json).toEqual({ timeout: null })
  })
})
