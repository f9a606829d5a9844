import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { type EnrichReport, openHome, ProspectError } from '../../src/index.js'
import { closeAfterTest } from '../client/listeners.js'
import { stockedMachine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { launch } from '../support/processes.js'
import { fakeFile, fakeVendor, vendorKey } from '../support/vendors.js'

const here = perTest(stockedMachine)
const opened = () => openHome({ home: here.home, folder: here.home, env: {} })

const rows = [
  { Site: 'sole.example', Note: 'a, "b"\nc' },
  { Site: 'nobody.example', Note: null },
]
const spentIn = async () =>
  (await here.json<{ credits: number }[]>('ledger --by day')).reduce((sum, { credits }) => sum + credits, 0)

it('quotes rows of a program, looks them up within a budget, and explains them as commands do', async () => {
  const home = opened()
  const quote = await home.quote('accounts.enrich', { rows, map: { domain: 'Site' } })
  expect(quote).toMatchObject({ rows: 2, lookups: 2, credits: { max: 2 }, problem: null })
  expect(await spentIn()).toBe(0)
  const given = { rows, map: { domain: 'Site' }, maxCredits: 2 } as const
  const report = await home.enrich('accounts.enrich', given)
  expect(report).toMatchObject({
    status: 'finished',
    exitCode: 0,
    problem: null,
    counts: { found: 1, credits: 1 },
  })
  expect(report.rows).toMatchObject([
    { Site: 'sole.example', Note: 'a, "b"\nc', name: 'Sole Ltd', _status: 'found', _credits: 1 },
    { Site: 'nobody.example', _status: 'not_found' },
  ])
  const again = await home.enrich('accounts.enrich', given)
  expect(again).toMatchObject({ run: report.run, rows: report.rows })
  expect(await spentIn()).toBe(1)
  expect(await home.runs.list()).toMatchObject([{ id: report.run, status: 'finished' }])
  expect(await home.ledger({ by: ['operation'] })).toMatchObject([
    { operation: 'accounts.enrich', credits: 1 },
  ])
})

it('writes a file, stops at its budget with the reason, and goes on with the same call', async () => {
  await here.fill('companies', 'name,domain\nAlto,alto.example\nBass,bass.example\n')
  here.write('in.csv', 'domain\nsole.example\nalto.example\nbass.example\n')
  const home = opened()
  const run = (maxCredits: number): Promise<EnrichReport> =>
    home.enrich('accounts.enrich', { file: 'in.csv', output: 'out.csv', maxCredits })
  const stopped = await run(1)
  expect(stopped).toMatchObject({
    status: 'stopped',
    exitCode: 12,
    problem: { code: 'stopped', exit_code: 12 },
    rows: [],
  })
  expect(await run(3)).toMatchObject({ run: stopped.run, status: 'finished', counts: { found: 3 } })
  expect(here.rows('out.csv').map(({ name }) => name)).toEqual(['Sole Ltd', 'Alto', 'Bass'])
  expect(await spentIn()).toBe(3)
  expect(await home.explain('out.csv', 2)).toMatchObject({
    status: 'found',
    credits: 1,
    values: { name: 'Alto' },
  })
})

it('throws what was refused before anything began, with its code and what to do', async () => {
  const home = opened()
  const error = await home
    .enrich('accounts.enrich', { file: 'none.csv', maxCredits: 1 })
    .catch((one: unknown) => one)
  expect(error).toBeInstanceOf(ProspectError)
  expect(error).toMatchObject({ code: 'usage', exitCode: 2, message: expect.stringContaining('none.csv') })
  await expect(home.enrich('credits.show', { rows })).rejects.toThrow('does not look up the rows of a file')
  await expect(home.flows.check('none.yaml')).rejects.toThrow('none.yaml')
  expect(await spentIn()).toBe(0)
})

it('passes fields that are the same in every row beside rows of a program', async () => {
  await here.fill(
    'people',
    'first_name,last_name,company_name,domain,email\nJo,Day,Sole Ltd,sole.example,jo@sole.example\n',
  )
  const people = [{ first_name: 'Jo', last_name: 'Day', domain: 'sole.example' }]
  const report = await opened().enrich('contacts.enrich', {
    rows: people,
    values: { enrichment_type: ['email'] },
    maxCredits: 10,
  })
  expect(report.rows).toMatchObject([{ last_name: 'Day', email: 'jo@sole.example', _status: 'found' }])
})

it('compares lists, keeps whom nobody may contact, and runs flows, all in the same home', async () => {
  const home = opened()
  here.write('crm.csv', 'Website\nsole.example\n')
  const matched = await home.match([{ domain: 'sole.example' }, { domain: 'other.example' }], {
    with: ['crm.csv'],
  })
  expect(matched).toMatchObject({ counts: { yes: 1, no: 1 }, rows: [{ _match: 'yes' }, { _match: 'no' }] })
  here.write(
    'flow.yaml',
    'name: own\ninput: { csv: crm.csv }\nsteps: [accounts.enrich]\noutput: { csv: flow.csv }\nbudget: { credits: 5 }\n',
  )
  await home.flows.check('flow.yaml')
  expect(await home.flows.quote('flow.yaml')).toMatchObject({ steps: expect.any(Array) })
  expect(await home.flows.run('flow.yaml', { maxCredits: 5 })).toMatchObject({
    status: 'finished',
    problem: null,
  })
  expect(here.rows('flow.csv')).toHaveLength(1)
  expect(await home.suppress.add(['sole.example'], 'asked')).toMatchObject({ added: 1 })
  expect(await home.suppress.check('sole.example')).toBe(true)
  expect(await home.suppress.list()).toMatchObject([{ value: 'sole.example', reason: 'asked' }])
  const { rows: left } = await home.enrich('accounts.enrich', {
    rows: [{ domain: 'sole.example' }],
    maxCredits: 1,
  })
  expect(left).toMatchObject([{ _status: 'suppressed' }])
  await home.suppress.remove('sole.example')
  expect(await home.suppress.check('sole.example')).toBe(false)
})

it('has the data vendors of the home, whose keys no file of a program has to hold', async () => {
  const vendor = closeAfterTest(await fakeVendor())
  const home = opened()
  here.write('one.yaml', fakeFile(vendor.origin, 'one'))
  await home.providers.add('one.yaml', vendorKey, ['127.0.0.0/8'])
  expect((await home.providers.list()).map(({ name }) => name)).toContain('one')
  const report = await home.enrich('accounts.enrich', { rows: [{ domain: 'king.example' }], maxCredits: 1 })
  expect(report.rows).toMatchObject([{ _status: 'found', _credits: 0, source: 'one' }])
  expect(vendor.charged()).toBe(10)
  await home.providers.remove('one')
  expect((await home.providers.list()).map(({ name }) => name)).not.toContain('one')
})

it('runs the example of its document in a home that is set up', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const document = await readFile(join(root, 'docs', 'library.md'), 'utf8')
  const example = /## Files, lists and flows\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(document)?.[1] ?? ''
  here.write('example.mjs', example.replace("'prospect-cli'", `'${join(root, 'dist', 'index.js')}'`))
  const env = { PROSPECT_HOME: here.home }
  const { stdout, stderr, exitCode } = await launch(here.path('example.mjs'), [], here.home, env)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toBe('at most 2 credits\nMarie not_found null\nJonas not_found null')
})
