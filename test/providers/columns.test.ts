import { describe, expect, it } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { addProvider, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
const dns = perFile(vendorNames)

/** A vendor that is told a name and a region, finds everybody but Nobody, and charges a credit for each question. */
async function regionVendor() {
  const asked: string[] = []
  const { origin } = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      const { searchParams, pathname } = new URL(request.url ?? '', 'http://vendor')
      const given = body === '' ? Object.fromEntries(searchParams) : JSON.parse(body)
      const { name, region = '-', team = '-' } = given as Record<string, string>
      asked.push(`${pathname} ${name} ${region} ${team}`)
      const email = name === 'Nobody' ? null : `${name?.toLowerCase()}@acme.example`
      response.writeHead(200).end(JSON.stringify({ email, name: `Ada ${name}`, title: `CTO ${region}` }))
    }),
  )
  return { origin, asked }
}

const kind = (needs: string) => `
    needs: [[first_name, last_name, domain${needs}]]
    outcomes: [{ when: "status == 200 && body.email != null", is: found }, { when: "status == 200", is: not_found }]
    cost: { found: 1, not_found: 1 }
`
const file = (origin: string, needs = ''): string => `name: acme
base_url: ${origin}
auth: { header: X-API-KEY }
kinds:
  email:${kind(needs)}    request: { post: /email, body: { name: "{last_name}", region: "{input.Region}", team: "of {input.Sales team}" } }
    result: { email: body.email }
  person:${kind(needs)}    request: { get: /person, query: { name: "{last_name}", region: "{input.Region}" } }
    result: { full_name: body.name, title: body.title, email: body.email }
`

const ready = async (needs?: string) => {
  const vendor = await regionVendor()
  await here.run('init')
  await addProvider(here, file(vendor.origin, needs))
  return vendor
}

const people = (...rows: readonly string[]) =>
  here.write('people.csv', `first_name,last_name,domain,region,Sales team\n${rows.join('\n')}\n`)
const env = () => ({ env: { PROSPECT_DNS: dns.address } })
const waterfall = (...more: string[]) =>
  here.run(
    [...'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'.split(' '), ...more],
    env(),
  )

describe('a vendor that is asked with columns of the file', () => {
  it('gets those of each row, and rows with other ones are other questions, asked once', async () => {
    const vendor = await ready()
    people(
      'Ada,King,acme.example,EMEA,North',
      'Ada,King,acme.example,APAC,North',
      'Ada,King,acme.example,EMEA,North',
      'Ada,Reed,acme.example,,',
    )
    expect((await waterfall()).code).toBe(0)
    const all = ['/email King APAC of North', '/email King EMEA of North', '/email Reed - of ']
    expect(vendor.asked.toSorted()).toEqual(all)
    expect(here.rows('out.csv').map((row) => [row.email, row._source])).toEqual([
      ['king@acme.example', 'lookup'],
      ['king@acme.example', 'lookup'],
      ['king@acme.example', 'duplicate'],
      ['reed@acme.example', 'lookup'],
    ])
    expect((await waterfall('--fresh', '--refresh')).code).toBe(0)
    // A row more makes it another file; what was asked is not asked again.
    people('Ada,King,acme.example,APAC,North', 'Ada,King,acme.example,LATAM,North')
    expect((await waterfall()).code).toBe(0)
    expect(vendor.asked.toSorted()).toEqual([all[0], all[1], '/email King LATAM of North', all[2]])
    expect(await here.json('ledger --provider acme --by provider')).toMatchObject([{ cost: 4 }])
    // A single lookup has no file.
    const single =
      'contacts waterfall --first-name Ada --last-name King --domain acme.example --enrichment-type email'
    expect((await here.run(single, env())).code).toBe(0)
    expect(vendor.asked.at(-1)).toBe('/email King - of ')
  })

  it('gets them in lookups of people, and in flows by the columns of the input', async () => {
    const vendor = await ready()
    people('Ada,King,acme.example,EMEA,North')
    expect((await here.run('leads enrich --csv people.csv -o out.csv --yes', env())).code).toBe(0)
    expect(here.rows('out.csv')[0]).toMatchObject({ title: 'CTO EMEA' })
    here.write(
      'flow.yaml',
      `name: flow
input: { csv: people.csv }
steps:
  - contacts.enrich: { enrichment_type: [email] }
output: { csv: flow.csv, columns: [last_name, email] }
`,
    )
    expect((await here.run('flow run flow.yaml', env())).code).toBe(0)
    expect(here.rows('flow.csv')[0]).toMatchObject({ last_name: 'King', email: 'king@acme.example' })
    expect(vendor.asked).toEqual(['/person King EMEA -', '/email King EMEA of North'])
  })

  it('makes no other questions of companies that differ in one with which it only verifies addresses', async () => {
    const vendor = await regionVendor()
    await here.run('init')
    await addProvider(
      here,
      `name: acme
base_url: ${vendor.origin}
auth: { header: X-API-KEY }
kinds:
  company:
    needs: [[domain]]
    request: { get: /company, query: { name: "{domain}" } }
    outcomes: [{ when: "body.name != null", is: found }]
    result: { name: body.name }
    cost: { found: 1 }
  verify:
    needs: [[email]]
    request: { get: /verify, query: { name: "{email}", region: "{input.Region}" } }
    outcomes: [{ when: "status == 200", is: found }]
    result: { email_status: body.email }
    cost: { found: 1 }
`,
    )
    here.write('companies.csv', 'domain,region\nacme.example,EMEA\nacme.example,APAC\n')
    expect((await here.run('accounts enrich --csv companies.csv -o out.csv --yes', env())).code).toBe(0)
    expect(vendor.asked).toEqual(['/company acme.example - -'])
    expect(here.rows('out.csv').map(({ _source }) => _source)).toEqual(['lookup', 'duplicate'])
  })

  it('makes no other lookups of people that differ in one with which it finds what is not asked for', async () => {
    const vendor = await ready()
    await here.run('data import people -', {
      stdin: 'full_name,network_profile_url,phone\nAda King,https://linkedin.com/in/ada-king,+33612345678\n',
    })
    const profile = 'Ada,King,acme.example,https://linkedin.com/in/ada-king'
    here.write(
      'people.csv',
      `first_name,last_name,domain,network_url,region\n${profile},EMEA\n${profile},APAC\n`,
    )
    const asked = 'contacts waterfall --csv people.csv --enrichment-type phone'
    expect(await here.json(`${asked} --dry-run`)).toMatchObject({ lookups: 1, credits: { max: 30 } })
    here.write(
      'flow.yaml',
      'name: flow\ninput: { csv: people.csv }\nsteps: [{ contacts.enrich: { enrichment_type: [phone] } }]\noutput: { csv: flow.csv, columns: [last_name, phone] }\n',
    )
    expect((await here.run('flow quote flow.yaml', env())).json).toMatchObject({ steps: [{ lookups: 1 }] })
    await here.run([...asked.split(' '), '-o', 'out.csv', '--yes'], env())
    expect(here.rows('out.csv').map(({ phone, _source }) => [phone, _source])).toEqual([
      ['+33612345678', 'lookup'],
      ['+33612345678', 'duplicate'],
    ])
    expect((await here.run('flow run flow.yaml', env())).code).toBe(0)
    expect(await here.json('ledger')).toMatchObject([{ credits: 30 }])
    expect(vendor.asked).toEqual([])
  })

  it('counts as other lookups in the quote of a flow, too', async () => {
    await ready()
    people('Ada,King,acme.example,EMEA,North', 'Ada,King,acme.example,APAC,North')
    here.write(
      'flow.yaml',
      'name: flow\ninput: { csv: people.csv }\nsteps: [{ contacts.enrich: { enrichment_type: [email] } }]\noutput: { csv: flow.csv, columns: [email] }\n',
    )
    expect((await here.run('flow quote flow.yaml', env())).json).toMatchObject({ steps: [{ lookups: 2 }] })
  })

  it('is not asked about rows that lack one that it needs, which is said', async () => {
    const vendor = await ready(', input.Region')
    people('Ada,King,acme.example,EMEA,North', 'Ada,Reed,acme.example,,North')
    const { stderr } = await waterfall()
    expect(stderr).toContain('acme needs the column Region: 1 row went on without it.')
    expect(vendor.asked).toEqual(['/email King EMEA of North'])
    const shown = await here.run('providers show acme', { terminal: true })
    expect(shown.stdout).toContain('Needs   first_name + last_name + domain + the column Region')
    expect(shown.stdout).toContain('email: it is asked with the column Sales team of the file of a row')
    const words = 'providers test acme --first-name Ada --last-name King --domain acme.example'
    const refused = await here.run(words)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--column 'Region=…'")])
    expect((await here.run([...words.split(' '), '--column', 'Region=APAC'])).code).toBe(0)
    expect(vendor.asked.at(-1)).toBe('/email King APAC of ')
  })

  it('is not told of somebody suppressed by a column, and forgets what a column says of a person', async () => {
    const vendor = await ready()
    people(
      'Ada,King,acme.example,ask grace@hopper.example first,North',
      'Ada,Reed,acme.example,call alan@turing.example,North',
    )
    await here.run('suppress add grace@hopper.example')
    expect((await waterfall()).code).toBe(0)
    expect(vendor.asked).toEqual(['/email Reed call alan@turing.example of North'])
    const forgotten = await here.run('data forget alan@turing.example --yes')
    expect(forgotten.code).toBe(0)
    const store = await openEngineDatabase(`${here.home}/engine.db`)
    const sql = 'SELECT subject AS text FROM provider_calls UNION ALL SELECT plan AS text FROM jobs'
    const texts = await store.read((tx) => tx.all<{ text: string }>(sql))
    await store.close()
    expect([texts.length > 1, texts.filter(({ text }) => text.includes('turing'))]).toEqual([true, []])
  })

  it.each([
    [
      'a column without a name',
      file('https://acme.example').replace(
        'region: "{input.Region}" } }\n    result: { full',
        'region: "{input.}" } }\n    result: { full',
      ),
      'input.',
    ],
    [
      'a path with a column that rows may lack',
      file('https://acme.example').replace('/email,', '"/email/{input.Region}",'),
      'input.Region',
    ],
  ])('is refused with %s', async (_, text, word) => {
    await here.run('init')
    here.write('acme.yaml', text)
    const { code, stderr } = await here.run('providers check acme.yaml')
    expect([code, stderr]).toEqual([2, expect.stringContaining(word)])
  })
})
