import { describe, expect, it } from 'vitest'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const run = (line: string, body: object) => here.run(line, { caller: answering({ body }) })

const credits = {
  credits: { enrichment: 7, daily_profile_scraping: 1 },
  limits: { daily_profile_scraping: 2 },
}
const company = { name: 'Acme', cleaned_name: 'acme', domain: 'acme.example' }

describe('--fields', () => {
  it('accepts the last part of a name where it is unambiguous', async () => {
    const { code, json } = await run('credits --fields enrichment', credits)
    expect([code, json]).toEqual([0, { credits: { enrichment: 7 } }])
  })

  it('accepts a name in any spelling, and that of an object for its fields', async () => {
    const { json } = await run('accounts enrich acme.example --fields cleaned-name,Domain', company)
    expect(json).toEqual({ cleaned_name: 'acme', domain: 'acme.example' })
    expect((await run('credits --fields limits', credits)).json).toEqual({ limits: credits.limits })
  })

  it('prints the whole answer with a warning where only the answer could have the name', async () => {
    const body = { id: 'x', email: 'a@b.example', custom: { crm: 1 } }
    const known = await run('contacts get x --fields custom.crm', body)
    expect([known.json, known.stderr]).toEqual([{ custom: { crm: 1 } }, ''])
    const { code, json, stderr } = await run('contacts get x --fields custom.other', body)
    expect([code, json]).toEqual([0, body])
    expect(stderr).toContain('The result has no field "custom.other"')
  })
})
