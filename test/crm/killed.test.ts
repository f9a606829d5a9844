import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../support/command.js'
import { type FakeHubspot, fakeHubspot, hubspotKey } from '../support/crm/hubspot.js'
import { sample } from '../support/effort.js'
import { launch, prospect } from '../support/processes.js'

const rows = [
  'email,first_name,title,company_name,company_domain',
  'jo@new.example,Jo,CEO,New,new.example',
  'al@other.example,Al,CTO,Other,other.example',
  ',Kim,CTO,Third,third.example',
  'grace.1@company-1.example,Grace,Admiral,Company 1,company-1.example',
  'alan.2@company-0.example,Alan,Logician,Company 0,company-0.example',
]
const push = ['push', 'people.csv', '--to', 'hubspot', '--yes', '--json']
const undo = ['push', 'undo', '--last', '--yes', '--json']

/** Does work on a machine that is connected to an account of its own. */
async function tried(work: (own: Machine, crm: FakeHubspot) => Promise<void>, more = '') {
  const own = machine()
  const crm = await fakeHubspot({ companies: 2, contacts: 4, lag: 3_600_000 })
  try {
    const words = `crm connect hubspot --base-url ${crm.origin} --allow-target 127.0.0.1 --key-stdin ${more}`
    await own.run(words.trim(), { stdin: hubspotKey })
    await own.run('crm pull')
    writeFileSync(own.path('people.csv'), `${rows.join('\n')}\n`)
    await work(own, crm)
  } finally {
    await crm.close()
    own.remove()
  }
}

/** Runs a command as a process that is killed at one of its requests, which is answered, or never was. */
async function killedAt(
  own: Machine,
  crm: FakeHubspot,
  argv: readonly string[],
  request: number,
  isLost: boolean,
) {
  const child = launch(prospect, argv, own.path('.'), { PROSPECT_HOME: own.path('.') })
  if (isLost) crm.at({ request }, { cut: 'before' })
  crm.at({ request }, { before: () => child.nodeChildProcess.kill('SIGKILL') })
  return await child
}

/** Every request that a kill may come at, answered and lost. */
const kills = (requests: number) =>
  Array.from({ length: requests }, (_, at) => at + 1).flatMap((request) => [
    [request, true] as const,
    [request, false] as const,
  ])

const snapshots = (crm: FakeHubspot) => [crm.companies.snapshot(), crm.contacts.snapshot()] as const

function expectWhole(crm: FakeHubspot, [companies, contacts]: ReturnType<typeof snapshots>) {
  expect(crm.companies.duplicates('domain')).toEqual([])
  expect([crm.contacts.duplicates('email'), crm.contacts.duplicates('firstname')]).toEqual([[], []])
  expect([crm.companies.live().length, crm.contacts.live().length]).toEqual([5, 7])
  for (const { before, after } of [...crm.companies.diff(companies), ...crm.contacts.diff(contacts)])
    for (const [name, value] of Object.entries(before ?? {}))
      expect([name, after?.[name]]).toEqual([name, value])
  for (const { id, fields } of crm.contacts.live())
    if (fields.firstname !== undefined) expect([id, crm.companiesOf(id).length]).toEqual([id, 1])
}

describe.each([
  ['', 1],
  ['--create-key', 5],
] as const)('a push that is killed %s', (more, from) => {
  /** How many requests a push and its undoing make that nobody kills. */
  let requests = 0
  let undoing = 0
  beforeAll(() =>
    tried(async (own, crm) => {
      const before = snapshots(crm)
      const first = crm.count()
      expect((await own.run(push)).code).toBe(0)
      requests = crm.count() - first
      expectWhole(crm, before)
      expect((await own.run(undo)).code).toBe(0)
      undoing = crm.count() - first - requests
      expect([crm.companies.diff(before[0]), crm.contacts.diff(before[1])]).toEqual([[], []])
      expect([requests, undoing].every((count) => count > 5)).toBe(true)
    }, more),
  )

  it('creates no record twice and changes no filled field when it is repeated, and undo restores all', async () => {
    for (const [request, isLost] of sample(kills(requests), 9, from))
      await tried(async (own, crm) => {
        const before = snapshots(crm)
        const { signal, stderr } = await killedAt(own, crm, push, request, isLost)
        expect([request, signal, stderr]).toEqual([request, 'SIGKILL', expect.anything()])
        const again = await own.run(push)
        expect([request, isLost, again.code, again.stderr]).toEqual([request, isLost, 0, expect.anything()])
        expectWhole(crm, before)
        expect((await own.run(undo)).code).toBe(0)
        expect([request, isLost, crm.companies.diff(before[0]), crm.contacts.diff(before[1])]).toEqual([
          request,
          isLost,
          [],
          [],
        ])
      }, more)
  })

  it('is undone whole also where the undo is killed and repeated', async () => {
    for (const [request, isLost] of sample(kills(undoing), 9, from))
      await tried(async (own, crm) => {
        const before = snapshots(crm)
        await own.run(push)
        await killedAt(own, crm, undo, request, isLost)
        const again = await own.run(undo)
        expect([request, isLost, again.code]).toEqual([request, isLost, 0])
        expect([request, isLost, crm.companies.diff(before[0]), crm.contacts.diff(before[1])]).toEqual([
          request,
          isLost,
          [],
          [],
        ])
      }, more)
  })
})
