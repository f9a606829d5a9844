import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { dayMs } from '../../../src/api/values/dates.js'
import { ends, type Machine, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { proxyOf, serves } from '../call/serving.js'

const [here, there] = [perTest(machine), perTest(machine)]

const file = 'domain\nrobots-0.example\nrobots-1.example\nnobody.example\n'
const people = 'full_name,email,company_domain\nAnn Lee,ann@robots-0.example,robots-0.example\n'

/** Serves companies and a person through the proxy of a team. Returns it, and what makes a machine one of a member. */
async function team() {
  const server = await serves(0, 2)
  await server.machine.fill('people', people)
  const proxy = await proxyOf(server)
  const join = async (one: Machine, email: string) => {
    await ends(proxy.machine.run(`engine members add ${email}`), 0)
    const env = { PROSPECT_BASE_URL: proxy.baseUrl, PROSPECT_API_KEY: await proxy.machine.newKey(email) }
    return (line: string) => ends(one.run(`${line} --yes`, { env }), 0)
  }
  return { proxy, join }
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
