import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect } from '../support/crm/each.js'
import { fakeHubspot, hubspotKey } from '../support/crm/hubspot.js'
import { fakePipedrive, pipedriveKey } from '../support/crm/pipedrive.js'
import { type Fields, seededPerson } from '../support/crm/records.js'
import { fakeSalesforce, salesforceKey } from '../support/crm/salesforce.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { launch, prospect } from '../support/processes.js'

const own = perTest(machine)

const contacts = tries(600, 20_000)
const companies = tries(150, 5_000)

/** Accounts with the limits that are published. */
const accounts = {
  hubspot: async () => ({
    ...(await fakeHubspot({ contacts, companies, limit: 190, window: 10_000 })),
    crm: 'hubspot' as const,
    key: hubspotKey,
  }),
  pipedrive: async () => ({
    ...(await fakePipedrive({ contacts, companies, hasTitles: true, limit: 40, window: 2_000 })),
    crm: 'pipedrive' as const,
    key: pipedriveKey,
  }),
  salesforce: async () => ({
    ...(await fakeSalesforce({ contacts, companies })),
    crm: 'salesforce' as const,
    key: salesforceKey,
  }),
}

const emails = {
  hubspot: 'email',
  pipedrive: ({ emails: all }: Fields) => (all as readonly { value: string }[] | undefined)?.[0]?.value,
  salesforce: 'Email',
} as const

const titles = { hubspot: 'jobtitle', pipedrive: 'name', salesforce: 'Title' } as const

/** Rows of a file that is pushed. Pipedrive takes one at a time, at twenty in a second. */
const pushed = { hubspot: contacts * 1.25, pipedrive: tries(60, 400), salesforce: contacts * 1.25 }

/** Runs a command as a process whose heap is small, in megabytes: what keeps all records at once dies of it. */
async function run(heap: number, ...argv: string[]) {
  const env = { PROSPECT_HOME: own.home, NODE_OPTIONS: `--max-old-space-size=${heap}` }
  const result = await launch(prospect, argv, own.home, env)
  expect([result.exitCode, result.signal, result.stderr]).toEqual([0, undefined, expect.any(String)])
  return result
}

/** Writes a file of so many people, the last fifth of whom is in no account. */
async function write(name: string, count: number) {
  const file = createWriteStream(own.path(name))
  file.write('email,first_name,last_name,title\n')
  for (let at = 0; at < count; at++) {
    const { email, first, last } = seededPerson(contacts * 1.25 - 1 - at, companies)
    file.write(`${email},${first},${last},Engineer\n`)
  }
  file.end()
  await finished(file)
}

describe.each(Object.keys(accounts) as (keyof typeof accounts)[])('a large account of %s', (crm) => {
  it('is read in little memory within its limits, and the next day only what has changed', async () => {
    const fake = await accounts[crm]()
    onTestFinished(fake.close)
    await connect(own, fake, ...(crm === 'salesforce' ? ['--create-key'] : []))
    const { stdout } = await run(48, 'crm', 'pull', crm, '--json')
    expect(JSON.parse(stdout)).toMatchObject([
      { kind: 'companies', records: companies, whole: true },
      { kind: 'people', records: contacts, whole: true },
    ])
    await write('people.csv', contacts * 1.25)
    await run(48, 'match', 'people.csv', '--with', `crm:${crm}`, '-o', 'matched.csv')
    const verdicts = own.read('matched.csv').match(/,(yes|no|maybe),/g) ?? []
    const count = (verdict: string) => verdicts.filter((one) => one === `,${verdict},`).length
    expect([count('yes'), count('no'), count('maybe')]).toEqual([contacts, contacts / 4, 0])

    fake.pass(86_400_000)
    const before = fake.count()
    const people = 'persons' in fake ? fake.persons : fake.contacts
    for (const { id } of people.page(10, 25)) people.change(id, { [titles[crm]]: 'CEO' })
    fake.pass(60_000)
    const next = JSON.parse((await run(48, 'crm', 'pull', crm, '--json')).stdout)
    expect(next).toMatchObject([
      { read: 0, records: companies },
      { read: 25, records: contacts },
    ])
    expect(fake.count() - before).toBeLessThanOrEqual(5)

    await write('push.csv', pushed[crm])
    const snapshot = people.snapshot()
    const argv = ['push', 'push.csv', '--to', crm, '--yes', '--json']
    const report = JSON.parse((await run(96, ...argv)).stdout)
    const created = Math.min(pushed[crm], contacts / 4)
    expect(report).toMatchObject({ rows: pushed[crm], create: created, refused: 0 })
    const changed = people.diff(snapshot)
    expect(changed.filter(({ before: had }) => had === undefined)).toHaveLength(created)
    expect(changed).toHaveLength(report.create + report.update)
    expect(people.duplicates(emails[crm])).toEqual([])
    expect(fake.breaches()).toBe(0)
  })
})
