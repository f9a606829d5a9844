import { describe, expect, it } from 'vitest'
import { ends, errorOf, stockedMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(stockedMachine)

const body = async (line: string) =>
  (await here.json<{ body: Record<string, unknown> }>(`${line} --dry-run`)).body
const search = 'leads advanced-search --preview'
const industries = 'accounts search --preview --included-industries'

describe('names of ids', () => {
  it('become ids in every spelling, or by an unambiguous beginning', async () => {
    const named = '--seniority-levels cxo,220 --functions Sales --functions "Human Resources"'
    const ids = { seniority_levels: ['310', '220'], functions: ['25', '12'] }
    expect(await body(`${search} ${named}`)).toMatchObject(ids)
    expect(await body(`${industries} Software`)).toMatchObject({ included_industries: ['96'] })
  })

  it('include the industries of the local catalogue; ids pass', async () => {
    const stdin = 'name,domain,industry\nAcme,acme.example,Robotics\n'
    expect((await here.fill('companies', stdin)).code).toBe(0)
    expect(await here.json('industries find ROBO')).toEqual([{ id: null, name: 'robotics', companies: 1 }])
    for (const industry of ['Robotics', '4711'])
      expect((await here.run(`${industries} ${industry}`)).code).toBe(0)
  })

  it('are refused for a server where an industry is not known; unknown ids pass to it', async () => {
    const env = { PROSPECT_BASE_URL: 'http://127.0.0.1:9/api/v2', PROSPECT_API_KEY: 'k' }
    await ends(here.run(`${industries} Robotics --dry-run`, { env }), 2)
    await ends(here.run(`${industries} 4711 --dry-run`, { env }), 0)
  })

  it('stand for the ids of lists of companies', async () => {
    const create = (name: string) => here.run(`lists create --name "${name}" --companies name=Acme`)
    for (const name of ['Targets', 'Twice', 'Twice']) await ends(create(name), 0)
    const lists = await here.json<{ lists: { id: string; name: string }[] }>('lists list')
    const id = lists.lists.find(({ name }) => name === 'Targets')?.id
    const number = '4711'
    expect(await body(`${search} --included-account-lists targets,${number}`)).toMatchObject({
      included_account_lists: [id, number],
    })
    const refused = async (name: string) =>
      errorOf(await ends(here.run(`${search} --excluded-account-lists ${name} --json`), 2))
    expect(await refused('Target')).toMatchObject({
      error: '--excluded-account-lists: no list is called "Target".',
      hint: 'Did you mean "Targets"? See: prospect lists list',
    })
    expect((await refused('Twice')).error).toContain('2 lists are called "Twice"')
    await create('HubSpot targets')
    const [newest] = (await here.json<{ lists: { id: string }[] }>('lists list')).lists
    for (const given of ['HubSpot targets', newest?.id.slice(0, 8) ?? ''])
      expect([
        await body(`${search} --included-account-lists "${given}"`),
        await here.json('lists', 'get', given),
      ]).toMatchObject([{ included_account_lists: [newest?.id] }, { id: newest?.id }])
  })

  it('of technologies that nobody is known to use are said, also of those to leave out', async () => {
    await here.fill('companies', 'name,domain,technologies\nAcme,acme.example,react;python\n')
    const stack = 'intents stack --preview --stacks'
    await ends(
      here.run(`${stack} reactt --excluded-stacks React,nosuch`),
      0,
      'Nobody is known to use the technology "reactt". Did you mean react?',
      'Nobody is known to use the technology "nosuch". Search for its name: prospect accounts technologies',
    )
    expect((await here.run(`${stack} React`)).stderr).not.toContain('Nobody is known')
  })

  it('stand for countries, as in cells, also in lists', async () => {
    for (const [line, sent] of [
      ['accounts enrich --name Acme --country Deutschland', { country: 'DE' }],
      [
        'accounts hiring acme.example --job-country-codes "Germany, uk,FR"',
        { job_country_codes: ['DE', 'GB', 'FR'] },
      ],
      [
        `lists create --name x --companies '{"name":"Acme","country_code":"Austria"}'`,
        { companies: [{ name: 'Acme', country_code: 'AT' }] },
      ],
    ] as const)
      expect(await body(line)).toMatchObject(sent)
    here.write('acme.csv', 'Name\nAcme\n')
    expect(await here.json('accounts enrich --csv acme.csv --dry-run --country=Germany')).toMatchObject({
      lookups: 1,
      invalid: 0,
    })
  })
})
