import { describe, expect, it } from 'vitest'
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
