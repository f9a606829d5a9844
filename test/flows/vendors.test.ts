import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../client/listeners.js'
import { ends, machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { emptySchema } from '../support/postgres.js'
import { addProvider, checkerFile, fakeFile, fakeVendor, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
const schema = perFile(emptySchema)

const people = (...names: string[]) =>
  here.write(
    'people.csv',
    `First name,Last name,Website\n${names.map((name) => `Ada,${name},acme.example\n`).join('')}`,
  )
const write = (columns: string, more = '') =>
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: people.csv }
steps: [{ contacts.enrich: { enrichment_type: [email] } }]
output: { csv: out.csv, columns: [${columns}] }
${more}`,
  )

interface Quote {
  readonly steps: readonly {
    readonly providers?: readonly { readonly provider: string; readonly kind: string; readonly max: number }[]
  }[]
}

describe('data vendors in a flow', () => {
  it('are in its quote with what asking for addresses may cost, and what verifying them may cost', async () => {
    const finder = closeAfterTest(await fakeVendor())
    const checker = closeAfterTest(await fakeVendor())
    const dns = closeAfterTest(await vendorNames())
    await ends(here.run('init --yes'), 0)
    await addProvider(here, fakeFile(finder.origin, 'finder'))
    await addProvider(here, checkerFile(checker.origin))
    people('Catchall', 'King', 'Catchallone')
    write('last_name, email, email_status, email_source')
    const { steps } = await here.json<Quote>('flow quote flow.yaml')
    const quoted = Object.fromEntries(
      (steps[0]?.providers ?? []).map((one) => [`${one.provider} ${one.kind}`, one.max]),
    )
    expect(quoted['finder email']).toBeGreaterThanOrEqual(3)
    // Of each person, the vendor, the catalogue and the pattern of the company may each give an address.
    expect(quoted['checker verify']).toBe(9)
    const shown = await here.run('flow quote flow.yaml --format table')
    expect(shown.stdout).toMatch(/checker at most 9 of\s+its credits for verify/)
    await ends(here.run('flow run flow.yaml', { env: { PROSPECT_DNS: dns.address } }), 0)
    expect(here.rows('out.csv')[0]).toMatchObject({ email: 'catchall@acme.example', email_status: 'valid' })
    expect([checker.asked.get('catchall@acme.example'), checker.charged() <= 9]).toEqual([1, true])
  })

  it('are those of the engine in the database that it names, and of no other one', async () => {
    const vendor = closeAfterTest(await fakeVendor())
    await ends(here.run('init --yes'), 0)
    await addProvider(here, fakeFile(vendor.origin))
    await ends(here.run('init --yes', { env: { PROSPECT_DATABASE_URL: schema.url } }), 0)
    people('King')
    write('last_name, email, email_source')
    await ends(here.run('flow check flow.yaml'), 0)
    for (const verb of ['check', 'quote'])
      await ends(
        here.run(`flow ${verb} flow.yaml --database ${schema.url}`),
        2,
        'There is no field email_source.',
      )
    await ends(here.run(`flow run flow.yaml --database ${schema.url}`), 2, 'There is no field email_source.')
    write('last_name, email')
    const refused = await here.run(`flow run flow.yaml --database ${schema.url} --max-cost acmemail=5`)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('acmemail')])
    expect(vendor.charged()).toBe(0)
  })
})
