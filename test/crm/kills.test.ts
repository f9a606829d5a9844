import { describe, expect, it } from 'vitest'
import { type Machine, machine } from '../support/command.js'
import { connect, type OpenedCrm, openers } from '../support/crm/each.js'
import { seededPerson } from '../support/crm/records.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { launch, prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'

/** Kills in all, over the three CRMs: as many as `PROSPECT_TEST_KILLS` says with `--long`. */
const kills = tries(6, Number(process.env.PROSPECT_TEST_KILLS ?? 60))
const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)

const contacts = 60
const companies = 10

/** Accounts as they are in bad weather: what changed is told late, limits are low, and batches are refused. */
const hard = {
  hubspot: (round: number) => ({
    lag: 3_600_000,
    limit: 40,
    window: 200,
    refusesBatches: round % 2 === 0,
    erased: ['erased.1@gone.example', 'erased.2@gone.example'],
  }),
  pipedrive: () => ({ limit: 30, window: 200 }),
  salesforce: (round: number) => ({ hasDuplicateRule: true, page: round % 2 === 0 ? 20 : 2_000 }),
} as const

/** Whether the account gets a unique property of ours. */
const hasKey = (crm: keyof typeof openers, round: number) => crm !== 'pipedrive' && round % 3 === 1

const out = 'never.write@out.example'
/** By their numbers: whoever is there and is suppressed, has opted out, has a title already, or gets one from somebody else. */
const [suppressed, optedOut, titled, theirs] = [4, 49, 3, 7]
const emailOf = (at: number): string => seededPerson(at, companies).email

/** People who are there, and people who are not: at companies that are there, and that are not; one of them without an address. */
const rows = [
  'first_name,last_name,email,title,company_name,company_domain',
  ...[suppressed, optedOut, titled, theirs, 8, 10, 11].map(
    (at) => `Any,Known ${at},${emailOf(at)},Engineer,,`,
  ),
  ...Array.from(
    { length: 12 },
    (_, at) => `New,Person ${at},new.${at}@firm-${at % 4}.example,CEO,Firm ${at % 4},firm-${at % 4}.example`,
  ),
  `Ed,Known,ed@company-2.example,CFO,Company 2,company-2.example`,
  'Kim,Nowhere,,CTO,Third,third.example',
  `Never,Write,${out},CEO,Out,out.example`,
  'Gone,One,erased.1@gone.example,CEO,,',
  'Gone,Two,erased.2@gone.example,CEO,,',
].join('\n')

/** Starts a command as a process that is killed at its kth request, which is answered, done without an answer, or lost. */
async function killedAt(own: Machine, crm: OpenedCrm, argv: readonly string[], k: number, how: number) {
  const child = launch(prospect, argv, own.home, { PROSPECT_HOME: own.home })
  const shot = () => child.nodeChildProcess.kill('SIGKILL')
  if (how === 0) crm.at({ request: k }, { cut: 'before' })
  crm.at({ request: k }, how === 2 ? { after: shot } : { before: shot })
  const { signal } = await child
  return signal === 'SIGKILL'
}

function expectWhole(crm: OpenedCrm, people: ReturnType<OpenedCrm['people']['snapshot']>, note: unknown) {
  expect([note, crm.people.duplicates(crm.emailOf), crm.companies.duplicates(crm.domainOf)]).toEqual([
    note,
    [],
    [],
  ])
  const named = crm.people.live().filter(({ fields }) => JSON.stringify(fields).includes('Nowhere'))
  expect([note, named.length <= 1]).toEqual([note, true])
  const untouched = [emailOf(suppressed), emailOf(optedOut)]
  for (const { before, after } of crm.people.diff(people)) {
    expect([note, untouched.includes(crm.emailOf(before ?? {}) ?? '')]).toEqual([note, false])
    expect([note, crm.emailOf(after ?? {})]).not.toEqual([note, out])
    for (const [name, value] of Object.entries(before ?? {}))
      expect([note, name, after?.[name]]).toEqual([note, name, value])
  }
}

describe.each(Object.keys(openers) as (keyof typeof openers)[])(
  'pull, push and undo of %s that are killed',
  (crm) => {
    it('make nobody twice, change no filled field, write nobody who is suppressed, and undo all of it', async () => {
      const pick = random(seed)
      const most = { pull: 6, push: 20, undo: 12 }
      let killed = 0
      for (let round = 0; killed < kills / 3; round++) {
        const own = machine()
        const fake = await openers[crm]({ contacts, companies, ...hard[crm](round) })
        try {
          await loadSample(own.home)
          await connect(own, fake, ...(hasKey(crm, round) ? ['--create-key'] : []))
          await own.run(['suppress', 'add', out])
          await own.run(['suppress', 'add', emailOf(suppressed)])
          own.write('people.csv', `${rows}\n`)
          const people = fake.people.snapshot()
          const firms = fake.companies.snapshot()
          const work = async (
            phase: keyof typeof most,
            argv: readonly string[],
            codes: readonly number[],
          ) => {
            // The first round shows how many requests there are.
            for (let attempt = 0; round > 0 && attempt < 4 && killed < kills / 3; attempt++)
              if (await killedAt(own, fake, argv, 1 + pick(most[phase]), pick(3))) killed++
            const before = fake.count()
            const last = await own.run(argv)
            if (round === 0) most[phase] = fake.count() - before
            expect([seed, round, phase, codes.includes(last.code), last.stderr]).toEqual([
              seed,
              round,
              phase,
              true,
              expect.anything(),
            ])
            return last.json
          }
          const pulled = await work('pull', ['crm', 'pull', crm, '--all', '--json'], [0])
          expect(pulled).toMatchObject([{ records: companies }, { records: contacts, withheld: 1 }])
          // Somebody else gives one of them a title while it is written.
          const person = fake.people.live()[theirs]?.id ?? ''
          fake.at(
            { write: 1 + pick(3) },
            { after: () => fake.people.change(person, { [fake.title]: 'Founder' }) },
          )
          await work('push', ['push', 'people.csv', '--to', crm, '--yes', '--json'], [0, 11])
          expectWhole(fake, people, [seed, round])
          expect([round, fake.people.here(person).fields[fake.title]]).toEqual([round, 'Founder'])
          expect([round, fake.people.live().length >= contacts + 14]).toEqual([round, true])
          for (const { id } of await own.json<{ id: string }[]>('push list'))
            await work('undo', ['push', 'undo', id, '--yes', '--json'], [0, 11])
          expect([round, fake.people.diff(people).map((one) => one.id)]).toEqual([round, [person]])
          expect([round, fake.companies.diff(firms)]).toEqual([round, []])
        } finally {
          await fake.close()
          own.remove()
        }
      }
      expect(killed).toBeGreaterThanOrEqual(kills / 3)
    })
  },
)
