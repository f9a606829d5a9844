import { expect, it } from 'vitest'
import { closeAfterTest } from '../../client/listeners.js'
import { ends, practiceMachine } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { addProvider, byName, fakeFile, fakeVendor, vendorNames } from '../../support/vendors.js'

const here = perTest(practiceMachine)
const dns = perFile(vendorNames)

type Behave = typeof byName

interface Asked {
  readonly provider: string
  readonly outcome: string
  readonly cost: number
  readonly at_risk: number
  readonly earlier: boolean
}

interface Explained {
  readonly status: string
  readonly credits: number
  readonly why_empty: string | null
  readonly providers: readonly Asked[]
  readonly values: Readonly<Record<string, string>>
}

const addVendor = async (name: string, behave: Behave) => {
  const vendor = closeAfterTest(await fakeVendor(behave))
  await addProvider(here, fakeFile(vendor.origin, name))
  return vendor
}

/** The first one finds neither `Second` nor `Nobody`, and loses the answer about `Lost`; the second one finds `Second` only. */
const first: Behave = (row, ...rest) => byName(row.replace('Second', 'Nobody'), ...rest)
const second: Behave = (row, ...rest) => byName(row.replace(/^(Lost|King)/, 'Nobody'), ...rest)

const kinds = ['Known', 'King', 'Second', 'Nobody', 'Lost']
const people = kinds.flatMap((kind) => [1, 2, 3, 4].map((n) => `${kind}${n}`))

const waterfall = (options: string, code: number) => {
  const env = { PROSPECT_DNS: dns.address }
  return ends(here.run(`contacts waterfall --enrichment-type email --yes ${options}`, { env }), code)
}

const explained = (row: number, file = 'out.csv') => here.json<Explained>(`explain ${file} --row ${row}`)
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

it('agrees for twenty values of five kinds with the ledger and with what the vendors counted', async () => {
  const vendors = { one: await addVendor('one', first), two: await addVendor('two', second) }
  await here.fill('companies', 'name,domain\nSole,sole.example\n')
  const known = people.slice(0, 4).map((name) => `Ada,${name},Sole,sole.example,${name}@sole.example`)
  await here.fill('people', `first_name,last_name,company_name,domain,email\n${known.join('\n')}\n`)
  const rows = people.map((name) => `Ada,${name},${name.startsWith('Known') ? 'sole' : 'acme'}.example`)
  here.write('in.csv', `first_name,last_name,domain\n${rows.join('\n')}\n`)
  await waterfall('--csv in.csv -o out.csv', 11)
  const all: Explained[] = []
  for (const at of people.keys()) all.push(await explained(at + 1))
  const shown = (row: Explained | undefined) => [
    row?.status,
    ...(row?.providers.map(({ provider, outcome }) => `${provider} ${outcome}`) ?? []),
  ]
  for (const [at, of] of [
    ['found'],
    ['found', 'one found'],
    ['found', 'one not_found', 'two found'],
    ['not_found', 'one not_found', 'two not_found'],
    ['unknown', 'one unknown', 'two not_found'],
  ].entries())
    for (const row of all.slice(4 * at, 4 * at + 4)) expect(shown(row)).toEqual(of)
  for (const row of all.slice(0, 12)) expect(row.values.email).toMatch(/@(acme|sole)\.example$/)
  const csv = here.rows('out.csv')
  for (const [at, { credits }] of all.entries()) expect(String(credits)).toBe(csv[at]?._credits || '0')
  const ledger = await here.json<{ credits: number }[]>('ledger --by operation')
  expect(sum(all.map(({ credits }) => credits))).toBe(sum(ledger.map(({ credits }) => credits)))
  expect(sum(all.map(({ credits }) => credits))).toBeGreaterThan(0)
  interface ByProvider {
    readonly provider: string
    readonly calls: number
    readonly cost: number
    readonly at_risk: number
  }
  const spent = await here.json<{ providers?: ByProvider[] } & ByProvider[]>('ledger --by provider')
  for (const [name, vendor] of Object.entries(vendors)) {
    const asked = all.flatMap(({ providers }) => providers.filter(({ provider }) => provider === name))
    expect(asked).toHaveLength(sum([...vendor.asked.values()]))
    const lost = asked.filter(({ outcome }) => outcome === 'unknown')
    // What a lost answer has charged is not known: it is at risk.
    expect(sum(asked.map(({ cost, at_risk }) => cost + at_risk))).toBe(vendor.charged())
    expect(lost.map(({ cost, at_risk }) => [cost, at_risk > 0])).toEqual(lost.map(() => [0, true]))
    expect(lost).toHaveLength(name === 'one' ? 4 : 0)
    const own = spent.find(({ provider }) => provider === name)
    expect(own?.calls).toBe(asked.length)
    expect(own?.cost).toBe(sum(asked.map(({ cost }) => cost)))
    expect(own?.at_risk).toBe(sum(asked.map(({ at_risk }) => at_risk)))
  }
  const { stdout } = await here.run(`explain out.csv --row ${people.length} --format table`)
  expect(stdout).toMatch(/Asked one for email: unknown, .*, up to 1 credit of its own, at risk, /)
})

it('says from which records the answer came, and when these were imported, also for a row that takes it again', async () => {
  await here.fill('companies', 'name,domain\nSole,sole.example\n')
  await here.fill(
    'people',
    'first_name,last_name,company_name,domain,email\nAda,King,Sole,sole.example,ada@sole.example\n',
  )
  here.write('in.csv', 'first_name,last_name,domain\nAda,King,sole.example\n')
  await waterfall('--csv in.csv -o out.csv', 0)
  const own = { kind: 'own', companies: 1, imported_at: expect.stringMatching(/^\d{4}-/) }
  expect(await explained(1)).toMatchObject({ answers_from: own })
  here.write('again.csv', 'first_name,last_name,domain\nAda,King,sole.example\nAda,None,sole.example\n')
  await waterfall('--csv again.csv -o again-out.csv', 11)
  expect(await explained(1, 'again-out.csv')).toMatchObject({ answers_from: own })
  expect(await explained(2, 'again-out.csv')).toMatchObject({ answers_from: null })
  const { stdout } = await here.run('explain out.csv --row 1 --format table')
  expect(stdout).toMatch(/^Answers from: your catalogue on this machine \(1 company, imported .*\)$/m)
})

it('says of an answer of a vendor that an earlier lookup was charged for that it was taken again', async () => {
  const vendor = await addVendor('one', first)
  here.write('in.csv', 'first_name,last_name,domain\nAda,Nobody,acme.example\nAda,King,acme.example\n')
  await waterfall('--csv in.csv -o out.csv', 0)
  await waterfall('--csv in.csv -o again.csv --fresh --refresh', 0)
  expect([...vendor.asked.values()]).toEqual([1, 1])
  const earlier = async (file: string) =>
    [await explained(1, file), await explained(2, file)].map(({ providers }) =>
      providers.map((one) => one.earlier),
    )
  expect(await earlier('out.csv')).toEqual([[false], [false]])
  expect(await earlier('again.csv')).toEqual([[true], [true]])
  const { stdout } = await here.run('explain again.csv --row 1 --format table')
  expect(stdout).toMatch(/Asked one for email: not found, 0 credits of its own, \S+, by another lookup\n/)
})

it('says of a row that repeats another, or takes a stored answer, that another lookup asked the vendors', async () => {
  const vendor = await addVendor('one', first)
  const king = 'Ada,King,acme.example\n'
  here.write('in.csv', `first_name,last_name,domain\n${king}${king}`)
  await waterfall('--csv in.csv -o out.csv', 0)
  here.write('other.csv', `first_name,last_name,domain\nAda,Nobody,acme.example\n${king}`)
  await waterfall('--csv other.csv -o again.csv', 0)
  expect(vendor.asked.get('King')).toBe(1)
  const asked = async (row: number, file: string) =>
    (await explained(row, file)).providers.map(({ cost, earlier }) => [cost, earlier])
  expect(await asked(1, 'out.csv')).toEqual([[1, false]])
  expect(await asked(2, 'out.csv')).toEqual([[1, true]])
  expect(await asked(2, 'again.csv')).toEqual([[1, true]])
  const { stdout } = await here.run('explain out.csv --row 2 --format table')
  expect(stdout).toMatch(/Asked one for email: found, 1 credit of its own, \S+, by another lookup\n/)
})

it('says who was not asked and why, and shows nothing of whom nobody may contact', async () => {
  await addVendor('one', byName)
  here.write('in.csv', 'first_name,last_name,domain\nAda,King,acme.example\nAda,Late,acme.example\n')
  await waterfall('--csv in.csv -o out.csv --rows 1', 0)
  const broke = '--first-name Ada --last-name Broke --domain acme.example --sync'
  await waterfall(broke, 9)
  await waterfall('--csv in.csv -o out.csv', 0)
  expect(await explained(2)).toMatchObject({
    status: 'not_found',
    providers: [{ provider: 'one', kind: null, outcome: 'not_asked', reason: 'out_of_credits' }],
  })
  const { stdout } = await here.run('explain out.csv --row 2 --format table')
  expect(stdout).toContain('Not asked one: out of credits\n')
  expect((await explained(1)).values.email).toBe('king@acme.example')
  await ends(here.run('suppress add king@acme.example'), 0)
  const hidden = await here.run('explain out.csv --row 1 --json')
  expect(hidden.stdout).not.toContain('king@')
})

it('says of an empty row which vendors could not be asked, and what they need', async () => {
  const vendor = await addVendor('one', byName)
  here.write('in.csv', 'first_name,last_name,company_name,domain\nAda,King,Acme,\nAda,Nobody,,acme.example\n')
  await waterfall('--csv in.csv -o out.csv', 0)
  expect(await explained(1)).toMatchObject({
    status: 'not_found',
    why_empty: 'Not asked: one (it needs a domain)',
    providers: [{ provider: 'one', kind: null, outcome: 'not_asked', reason: 'it needs a domain' }],
  })
  const { stdout } = await here.run('explain out.csv --row 1 --format table')
  expect(stdout).toContain('Not asked one: it needs a domain\n')
  expect((await explained(2)).providers).toMatchObject([{ provider: 'one', outcome: 'not_found' }])
  expect([...vendor.asked.keys()]).toEqual(['Nobody'])
})

it('explains a row of the input of a flow in each step that it came to, with all that came of it', async () => {
  const vendor = await addVendor('one', first)
  await here.fill('companies', 'name,domain,headcount\nSole,sole.example,5\nAcme,acme.example,80\n')
  const person = (name: string, company: string, domain: string) =>
    `Ada,${name},${company},${domain},Sales Director`
  const all = [
    person('Alone', 'Sole', 'sole.example'),
    person('King', 'Acme', 'acme.example'),
    person('Nobody', 'Acme', 'acme.example'),
  ]
  await here.fill('people', `first_name,last_name,company_name,domain,title\n${all.join('\n')}\n`)
  here.write('in.csv', 'domain\nsole.example\nacme.example\nnone.example\n')
  here.write(
    'flow.yaml',
    `name: leads
input: { csv: in.csv }
steps:
  - accounts.enrich
  - keep: headcount == null || headcount > 10
  - leads.search: { job_titles: ["*"], limit: 3 }
  - contacts.enrich: { enrichment_type: [email] }
output: { csv: leads.csv }
budget: { credits: 100 }
`,
  )
  const env = { PROSPECT_DNS: dns.address }
  const ended = await here.run('flow run flow.yaml --yes', { env })
  expect([ended.code, ended.stderr]).toEqual([expect.any(Number), expect.stringContaining('leads')])
  interface Flow {
    readonly credits: number
    readonly steps: readonly (Explained & { readonly step: string; readonly row: number })[]
  }
  const flowRow = async (row: number) => here.json<Flow & Explained>(`explain flow.yaml --row ${row}`)
  const acme = await flowRow(2)
  expect(acme.steps.map(({ step, status, row }) => [step, status, row])).toEqual([
    ['1 accounts.enrich', 'found', 2],
    ['3 leads.search', 'found', 2],
    ['4 contacts.enrich', 'found', 4],
    ['4 contacts.enrich', 'not_found', 5],
  ])
  const contacts = acme.steps.filter(({ step }) => step === '4 contacts.enrich')
  expect(contacts.flatMap(({ providers }) => providers.map(({ outcome }) => outcome)).sort()).toEqual([
    'found',
    'not_found',
  ])
  const sole = await flowRow(1)
  expect(sole.steps.map(({ step }) => step)).toEqual(['1 accounts.enrich'])
  const rows = [sole, acme, await flowRow(3)]
  const [{ credits } = { credits: 0 }] = await here.json<{ credits: number }[]>('flow list')
  expect(sum(rows.map((row) => row.credits))).toBe(credits)
  const asked = rows.flatMap(({ steps }) => steps.flatMap(({ providers }) => providers))
  expect(sum(asked.map(({ cost }) => cost))).toBe(vendor.charged())
  expect((await ends(here.run('explain leads.csv --row 2'), 2)).stderr).toContain(
    `leads.csv does not have the rows of ${here.path('flow.yaml')} one for one. Name the row there: prospect explain`,
  )
  const email = await here.json<Flow>('explain flow.yaml --row 2 --column email')
  expect(email.credits).toBe(acme.credits)
  const said = ['email', 'email_status', 'email_source']
  expect(email.steps.flatMap(({ values }) => Object.keys(values)).every((name) => said.includes(name))).toBe(
    true,
  )
  expect((await ends(here.run('explain flow.yaml --row 9'), 2)).stderr).toContain('Row 9 came to no step')
  expect((await ends(here.run('explain flow.yaml --row 2 --column emial'), 2)).stderr).toContain(
    'has no such',
  )
  const { stdout } = await here.run('explain flow.yaml --row 2 --format table')
  expect(stdout).toMatch(/^Row 2 of flow leads \(.+\): 1 credit\n\nStep 1 accounts\.enrich\nRow 2 of run /)
})

it('says of a row of a flow why a step did not look it up, where it came to that step', async () => {
  await here.fill('companies', 'name,domain,headcount\nSole,sole.example,5\nAcme,acme.example,80\n')
  const flow = (budget: number) => `name: few
input: { csv: in.csv }
steps:
  - accounts.enrich
  - accounts.stack:
    only_if: headcount > 10
output: { csv: few.csv }
budget: { credits: ${budget} }
`
  here.write(
    'in.csv',
    'name,domain,country\n,acme.example,\n,,DE\n,sole.example,\n,hidden.example,\n,none.example,\n',
  )
  here.write('flow.yaml', flow(100))
  await here.json('suppress add hidden.example')
  const env = { PROSPECT_DNS: dns.address }
  await here.run('flow run flow.yaml --yes', { env })
  const steps = async (row: number) => {
    const { steps: all } = await here.json<{ steps: readonly Record<string, unknown>[] }>(
      `explain flow.yaml --row ${row}`,
    )
    return all.map(({ step, status, credits, why_empty: why }) => [step, status, credits, why])
  }
  const [first, second] = ['1 accounts.enrich', '2 accounts.stack']
  expect(await steps(1)).toMatchObject([
    [first, 'found', 1, null],
    [second, 'found', 0, null],
  ])
  expect(await steps(2)).toEqual([[first, 'invalid', 0, expect.stringMatching(/domain/)]])
  expect(await steps(3)).toEqual([
    [first, 'found', 1, null],
    [second, 'skipped', 0, 'The condition of the step is not true of it: it passes by the step.'],
  ])
  expect(await steps(4)).toEqual([[first, 'suppressed', 0, 'It is suppressed: it was not looked up.']])
  expect(await steps(5)).toEqual([
    [first, 'not_found', 0, expect.any(String)],
    [second, 'skipped', 0, expect.stringContaining('passes by')],
  ])
  const { stdout } = await here.run('explain flow.yaml --row 2 --format table')
  expect(stdout).toMatch(
    /^Step 1 accounts\.enrich\nRow 2 of run .*\nStatus: invalid\nCost: 0 credits\nEmpty: /m,
  )
  // Of another file it is not known any more.
  here.write('in.csv', 'domain\nacme.example\nsole.example\n')
  expect((await ends(here.run('explain flow.yaml --row 2'), 2)).stderr).toContain('Row 2 came to no step')
})

it('names who was asked about the person of a row of a sample, not about that of the file', async () => {
  await addVendor('one', first)
  const rows = ['Nobody1', 'King1', 'Nobody2', 'King2'].map((name) => `Ada,${name},acme.example`)
  here.write('in.csv', `first_name,last_name,domain\n${rows.join('\n')}\n`)
  await waterfall('--csv in.csv -o sample.csv --sample 2', 0)
  const names = here.read('sample.csv').trim().split('\n').slice(1)
  for (const [at, line] of names.entries()) {
    const { status, providers } = await explained(at + 1, 'sample.csv')
    expect(status).toBe(line.includes('King') ? 'found' : 'not_found')
    expect(providers.map(({ outcome }) => outcome)).toEqual([status])
  }
})
