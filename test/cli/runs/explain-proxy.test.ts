import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { dayMs } from '../../../src/api/values/dates.js'
import { ends, type Machine, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { proxyOf, serves } from '../call/serving.js'

const [here, there, elsewhere] = [perTest(machine), perTest(machine), perTest(machine)]

const file = 'domain\nrobots-0.example\nrobots-1.example\nnobody.example\n'
const people = 'full_name,email,company_domain\nAnn Lee,ann@robots-0.example,robots-0.example\n'

/** Serves companies and a person through the proxy of a team. Returns them, and what makes a machine one of a member. */
async function team(companies = 2) {
  const server = await serves(0, companies)
  await server.machine.fill('people', people)
  const proxy = await proxyOf(server)
  const join = async (one: Machine, email: string) => {
    await ends(proxy.machine.run(`engine members add ${email}`), 0)
    const env = { PROSPECT_BASE_URL: proxy.baseUrl, PROSPECT_API_KEY: await proxy.machine.newKey(email) }
    return (line: string) => ends(one.run(`${line} --yes`, { env }), 0)
  }
  return { server, proxy, join }
}

const explained = (of: Machine, output: string, row = 1) =>
  of.json<Record<string, unknown>>(`explain ${output} --row ${row}`)

it('says of an answer from the store of a proxy who of the team paid for it, and how old it is', async () => {
  const { proxy, join } = await team()
  const [ann, bob] = [await join(here, 'ann@acme.example'), await join(there, 'bob@acme.example')]
  for (const one of [here, there]) one.write('in.csv', file)
  await ann('accounts enrich --csv in.csv -o out.csv')
  expect(await explained(here, 'out.csv')).toMatchObject({
    ...{ source: 'lookup', credits: 1, team_store: false, paid_by: null, age_days: 0 },
    values: { name: 'Robots 0' },
  })
  const store = new Database(proxy.machine.path('state.db'))
  store.prepare('UPDATE lookups SET answered_at = answered_at - ?').run(3 * dayMs)
  store.close()
  await bob('accounts enrich --csv in.csv -o out.csv')
  expect(await explained(there, 'out.csv', 2)).toMatchObject({
    ...{ source: 'reused', credits: 0, team_store: true, paid_by: 'ann@acme.example', age_days: 3 },
    values: { name: 'Robots 1' },
  })
  expect(await explained(there, 'out.csv', 3)).toMatchObject({ status: 'not_found', team_store: false })
  const { stdout } = await there.run('explain out.csv --row 2 --column name --format table')
  expect(stdout).toContain("Status: found (reused, from the team's store, paid by ann@acme.example)\n")
  expect(stdout).toMatch(/^Answered: \S+, 3 days ago$/m)
  // What it is taken from again is still theirs.
  await bob('accounts enrich --csv in.csv -o again.csv --fresh')
  expect(await explained(there, 'again.csv', 2)).toMatchObject({
    ...{ source: 'reused', team_store: true, paid_by: 'ann@acme.example', age_days: 3 },
  })
  expect(await proxy.machine.json('ledger --by member')).toMatchObject([
    { member: 'ann@acme.example', credits: 2 },
  ])
})

it('agrees for twenty values of five kinds with the ledgers of member and proxy, and with what the server charged', async () => {
  interface Value {
    readonly target: string
    readonly source: string
    readonly credits: number
    readonly team_store: boolean
    readonly paid_by: string | null
    readonly from_run: string | null
  }
  const { server, proxy, join } = await team(12)
  const [ann, bob] = [await join(here, 'ann@acme.example'), await join(there, 'bob@acme.example')]
  const left = async () =>
    (await server.machine.json<{ credits: { enrichment: number } }>('credits')).credits.enrichment
  const before = await left()
  const list = (from: number, to: number) =>
    `domain\n${Array.from({ length: to - from }, (_, at) => `robots-${from + at}.example\n`).join('')}`
  here.write('in.csv', list(0, 4))
  await ann('accounts enrich --csv in.csv -o out.csv')
  there.write('in.csv', list(0, 8))
  there.write('again.csv', list(4, 8))
  there.write('flow.csv', list(8, 12))
  there.write('own.csv', list(0, 4).replaceAll('robots', 'own'))
  there.write(
    'flow.yaml',
    'name: few\ninput: { csv: flow.csv }\nsteps: [accounts.enrich]\noutput: { csv: f.csv }\nbudget: { credits: 9 }\n',
  )
  await bob('accounts enrich --csv in.csv -o out.csv')
  await bob('accounts enrich --csv again.csv -o again-out.csv')
  await bob('flow run flow.yaml')
  await there.fill('companies', `name,${list(0, 4).replaceAll('robots', 'Own,own')}`)
  await ends(there.run('accounts enrich --csv own.csv -o own-out.csv --local --yes'), 0)
  const values = async (output: string, from: number) => {
    const found: Value[] = []
    for (const at of [0, 1, 2, 3]) found.push((await explained(there, output, from + at)) as unknown as Value)
    return found
  }
  const [team_store, fresh] = [await values('out.csv', 1), await values('out.csv', 5)]
  const [stored, own] = [await values('again-out.csv', 1), await values('own-out.csv', 1)]
  const flow = (await values('flow.yaml', 1)).flatMap((row) => (row as unknown as { steps: Value[] }).steps)
  const kinds = { team_store, fresh, stored, flow, own }
  const shown = ({ source, credits, team_store: isOfTeam, paid_by: payer, from_run: from }: Value) =>
    [source, credits, isOfTeam, payer, from === null ? 'asked' : 'stored'].join(' ')
  const of = Object.entries(kinds).map(([name, all]) => [name, all.length, [...new Set(all.map(shown))]])
  expect(of).toEqual([
    ['team_store', 4, ['reused 0 true ann@acme.example asked']],
    ['fresh', 4, ['lookup 1 false  asked']],
    ['stored', 4, ['reused 0 false  stored']],
    ['flow', 4, ['lookup 1 false  asked']],
    ['own', 4, ['lookup 1 false  asked']],
  ])
  const spent = Object.values(kinds).flat()
  const ledger = await there.json<{ target: string; credits: number }[]>('ledger --by target')
  expect(ledger).toHaveLength(2)
  for (const { target, credits } of ledger)
    expect(spent.filter((one) => one.target === target).reduce((sum, one) => sum + one.credits, 0)).toBe(
      credits,
    )
  const members = await proxy.machine.json<{ member: string; credits: number }[]>('ledger --by member')
  expect(Object.fromEntries(members.map(({ member, credits }) => [member, credits]))).toEqual({
    'ann@acme.example': 4,
    'bob@acme.example': 8,
  })
  expect(before - (await left())).toBe(12)
})

it('says so of a contact that another member has started to look for, too', async () => {
  const { join } = await team()
  const [ann, bob] = [await join(here, 'ann@acme.example'), await join(there, 'bob@acme.example')]
  await ann(
    'contacts waterfall --first-name Ann --last-name Lee --domain robots-0.example --enrichment-type email --wait',
  )
  there.write('in.csv', 'first_name,last_name,domain\nAnn,Lee,robots-0.example\n')
  await bob('contacts waterfall --csv in.csv --enrichment-type email -o out.csv')
  expect(await explained(there, 'out.csv')).toMatchObject({
    ...{ credits: 0, team_store: true, paid_by: 'ann@acme.example' },
    values: { email: 'ann@robots-0.example' },
  })
})

it('says of each answer to a request for several who paid for it and how old it is, whatever the others are', async () => {
  const { proxy, join } = await team()
  const [ann, bob] = [await join(here, 'ann@acme.example'), await join(there, 'bob@acme.example')]
  const cat = await join(elsewhere, 'cat@acme.example')
  await ann('accounts enrich --domain robots-0.example')
  const store = new Database(proxy.machine.path('state.db'))
  store.prepare('UPDATE lookups SET answered_at = answered_at - ?').run(3 * dayMs)
  store.close()
  for (const one of [there, elsewhere]) {
    one.write('in.csv', file)
    const accounts = ['nobody', 'robots-0', 'robots-1'].map((name) => ({ domain: `${name}.example` }))
    one.write('several.json', JSON.stringify({ accounts }))
  }
  const run = async (member: typeof ann, of: Machine) => {
    await member('accounts enrich --bulk --input several.json')
    await member('accounts enrich --csv in.csv -o out.csv')
    return [await explained(of, 'out.csv', 1), await explained(of, 'out.csv', 2)]
  }
  // One is stored and one is sent.
  expect(await run(bob, there)).toMatchObject([
    { source: 'reused', credits: 0, team_store: true, paid_by: 'ann@acme.example', age_days: 3 },
    { source: 'reused', credits: 0, team_store: false, paid_by: null, age_days: 0 },
  ])
  // Both are stored, and each is paid for by another member.
  expect(await run(cat, elsewhere)).toMatchObject([
    { source: 'reused', credits: 0, team_store: true, paid_by: 'ann@acme.example', age_days: 3 },
    { source: 'reused', credits: 0, team_store: true, paid_by: 'bob@acme.example', age_days: 0 },
  ])
  const spent = await proxy.machine.json<{ member: string; credits: number }[]>('ledger --by member')
  expect(spent.map(({ member, credits }) => `${member} ${credits}`).sort()).toEqual([
    'ann@acme.example 1',
    'bob@acme.example 1',
  ])
})
