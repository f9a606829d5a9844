import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { stocked } from '../support/flows.js'
import { launch, prospect } from '../support/processes.js'

const here = perTest(machine)

const program = `const { existsSync } = require('node:fs')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { _row } = JSON.parse(line)
  const answer = () => (existsSync('go') ? console.log(JSON.stringify({ _row, score: 1 })) : setTimeout(answer, 10))
  answer()
})
`

async function prepared() {
  await stocked(here.run, 5)
  here.write('list.csv', 'Website\ncompany-0.example\ncompany-1.example\ncompany-2.example\n')
  here.write('program.js', program)
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: list.csv }
steps: [accounts.enrich, { command: [node, program.js], fields: [score] }]
output: { csv: out.csv, columns: [name, score] }
since: last_run
`,
  )
}
const found = 'name,score\nCompany 0,1\nCompany 1,1\nCompany 2,1\n'

describe('a flow that takes what is new since its last run', () => {
  it('takes rows again that failed in a later step, and pays for none of them twice', async () => {
    await prepared()
    const asked: string[] = []
    const { origin } = closeAfterTest(
      await answering(async (request, response) => {
        const { name } = JSON.parse((await received(request)).body) as { name: string }
        asked.push(name)
        if (name === 'Company 1' && asked.length <= 3) response.statusCode = 500
        response.end('{"score": 1}')
      }),
    )
    const http = `{ http: { post: "${origin}", result: { score: score } } }`
    here.write('flow.yaml', here.read('flow.yaml').replace(/\{ command.*\}/, http))
    await ends(here.run('flow run flow.yaml'), 11, '1 failed')
    const balance = await here.balance()
    here.write('list.csv', `${here.read('list.csv')}company-3.example\n`)
    await ends(here.run('flow run flow.yaml'), 0, '2 known from earlier runs')
    expect(here.read('out.csv')).toBe('name,score\nCompany 1,1\nCompany 3,1\n')
    expect([asked.slice(3).toSorted(), balance - (await here.balance())]).toEqual([
      ['Company 1', 'Company 3'],
      1,
    ])
    await ends(here.run('flow run flow.yaml'), 0, '4 known from earlier runs')
  })

  it('is refused over people whose companies are looked up first, since new people at known companies would be left out', async () => {
    await stocked(here.run, 5)
    here.write('list.csv', 'Vorname,Nachname,Website\nLenya,Hertel,company-0.example\n')
    const flow = (step: string) =>
      here.write(
        'flow.yaml',
        `name: flow\ninput: { csv: list.csv }\nsteps: [${step}]\noutput: { csv: out.csv }\nsince: last_run\n`,
      )
    flow('accounts.enrich')
    await ends(here.run('flow check flow.yaml'), 2, 'a new person at a known company would be left out')
    flow('leads.enrich, accounts.enrich')
    await ends(here.run('flow check flow.yaml'), 0)
  })

  it('is quoted by what became of its new rows, not of those that it knew', async () => {
    await stocked(here.run, 60)
    const companies = (count: number) => here.write('list.csv', `Website\n${rows(count).join('\n')}\n`)
    const rows = (count: number) => Array.from({ length: count }, (_, at) => `company-${at}.example`)
    const steps = 'steps: [accounts.enrich, { keep: headcount > 0 }]\noutput: { csv: out.csv }'
    here.write('flow.yaml', `name: flow\ninput: { csv: list.csv }\n${steps}\nsince: last_run\n`)
    companies(30)
    await ends(here.run('flow run flow.yaml'), 0, '30 in')
    companies(60)
    await ends(here.run('flow run flow.yaml'), 0, '30 known from earlier runs')
    const { steps: quoted } = await here.json<{
      steps: { step: string; out: object; from_history: boolean }[]
    }>('flow quote flow.yaml')
    expect(quoted[0]).toMatchObject({ out: { min: 48, expected: 60, max: 60 }, from_history: true })
  })

  it('is not run by two commands at once, and the second one writes nothing over what the first one finds', async () => {
    await prepared()
    const env = { ...(process.env as Record<string, string>), PROSPECT_HOME: here.home }
    const start = () => launch(prospect, ['flow', 'run', 'flow.yaml'], here.home, env)
    const both = [start(), start()]
    const first = await Promise.race(both)
    expect([first.exitCode, first.stderr]).toEqual([15, expect.stringContaining('in use by another command')])
    here.write('go', '')
    const ended = await Promise.all(both)
    expect(ended.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 15])
    expect(here.read('out.csv')).toBe(found)
  })

  it('leaves alone what another command found that ended while this one began', async () => {
    await prepared()
    here.write('go', '')
    await ends(here.run('flow run flow.yaml'), 0)
    const balance = await here.balance()
    // It began before the other one ended, and went on after that.
    const clock = { now: () => Date.now() - 60_000 }
    await ends(
      here.run('flow run flow.yaml', { clock }),
      15,
      'flow was run by another command while this one began, and that one has what is new.',
      'Run it again',
    )
    expect([here.read('out.csv'), await here.balance()]).toEqual([found, balance])
    await ends(here.run('flow run flow.yaml'), 0, '3 known from earlier runs')
    expect(here.read('out.csv')).toBe('name,score\n')
  })
})
