import { expect, it } from 'vitest'
import { engineWith } from '../cli/runs/served.js'
import { batchOnBadDisks } from '../support/bad-disks.js'
import { killedBatch, random, sharedByKilledCommands } from '../support/killed-batch.js'
import { expectNothingLost } from '../support/nothing-lost.js'
import { prospect } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

const program = await bundled('programs/killed-batch.ts')

it('P19: a run of 10,000 rows that is killed 200 times loses nothing and pays once', async () => {
  const began = performance.now()
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const kills = some(200, 10)
  const survived = await killedBatch(program, { rows: some(10_000, 1_000), kills, seed })
  expect(survived.kills).toBe(kills)
  expectNothingLost(survived)
  found({
    promise: 'P19',
    tried: `${grouped(survived.rows.length)} rows, ${survived.kills} kills (seed ${seed})`,
    lost: '0 rows lost, 0 doubled; the ledger is the price of each company found, once',
    measured: `${grouped(survived.spent)} credits; ${secondsSince(began)}`,
  })
})

it('P57: files and single lookups that ask for the same companies at once, and are killed 200 times over, pay once', async () => {
  const began = performance.now()
  const histories = some(200, 10)
  await sharedByKilledCommands(program, histories)
  found({
    promise: 'P57',
    tried: `${grouped(histories)} histories of 3 to 8 commands at once`,
    lost: '0 companies paid for twice',
    measured: secondsSince(began),
  })
})

/** A file of people: one in five is unknown, one in ten is there twice. */
const people = Array.from({ length: 1_000 }, (_, at) => {
  const of = at % 10 === 9 ? at - 9 : at
  return `${of % 5 === 4 ? 'Nobody' : 'Ada'},Number ${of},c${of}.example`
})
const isFound = (person: string) => person.startsWith('Ada')

it('P19: waterfalls that are sent together and killed 60 times lose nothing and pay once', async () => {
  const began = performance.now()
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const pick = random(seed)
  const filled = await engineWith(async (owner) => {
    const known = [...new Set(people)]
      .filter(isFound)
      .map((person) => `${person},ada@${person.split(',')[2]}`)
    const stdin = `first_name,last_name,company_domain,email\n${known.join('\n')}\n`
    await owner.run(['data', 'import', 'people', '-'], { stdin })
    await owner.json('engine', 'credits', 'set', '1000000')
  })
  const find = ['contacts', 'waterfall', '--csv', 'in.csv', '--enrichment-type', 'email', '-o', 'out.csv']
  let [kills, files] = [0, 0]
  for (; kills < some(60, 5); files++) {
    const here = await filled.reach(prospect, 'local')
    here.write('in.csv', `First name,Last name,Website\n${people.join('\n')}\n`)
    while ((await here.killed(1 + pick(12), ...find)).signal === 'SIGKILL') kills++
    expect((await here.run(...find)).exitCode).toBe(0)
    const rows = here.rows('out.csv')
    expect(rows.map((row) => `${row['First name']},${row['Last name']},${row.Website}`)).toEqual(people)
    for (const { Website, email, _status, ...row } of rows)
      expect([email, _status]).toEqual(
        row['First name'] === 'Ada' ? [`ada@${Website}`, 'found'] : ['', 'not_found'],
      )
    const price = 3 * new Set(people.filter(isFound)).size
    const told = rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)
    const charged = (await here.charges()).reduce((sum, amount) => sum + amount, 0)
    expect([told, charged, await here.engine('ledger', 'verify')]).toMatchObject([price, price, { ok: true }])
    await here.close()
  }
  filled.remove()
  found({
    promise: 'P19',
    tried: `${files} files of ${grouped(people.length)} waterfalls, ${kills} kills (seed ${seed})`,
    lost: '0 rows lost, 0 doubled; the ledger is the price of each person found, once',
    measured: secondsSince(began),
  })
})

it('P20: a disk that is full or broken at any point of a run loses nothing', async () => {
  const began = performance.now()
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const { survived, tried, notRun } = await batchOnBadDisks(prospect, {
    rows: some(3_000, 1_000),
    rounds: some(20, 4),
    seed,
  })
  for (const one of survived) expectNothingLost(one)
  found({
    promise: 'P20',
    tried: `${tried}; ${survived.length} files (seed ${seed})${notRun === '' ? '' : `; not run: ${notRun}`}`,
    lost: 'no output under its name before it was complete; 0 rows lost, 0 paid twice',
    measured: secondsSince(began),
  })
})
