import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { loadSample } from '../../support/sample.js'

const here = perTest(machine)

/** Returns the commands that the overview lists. */
const commandsIn = (text: string): readonly string[] => {
  const sections = text.split('\n\n').filter((part) => /^(?:Look up|Money|This machine):$/m.test(part))
  return sections.flatMap((part) =>
    [...part.matchAll(/^ {2}(\S+(?: \S+)*) {2}/gm)].map(([, name = '']) => name),
  )
}

describe('prospect on its own', () => {
  it('says that nothing is set up, and creates nothing', async () => {
    const { stdout } = await ends(here.run(''), 0)
    expect(stdout).toContain('This machine is not set up yet.')
    expect(stdout).toContain('  prospect init ')
    expect([here.exists('engine.db'), here.exists('state.db')]).toEqual([false, false])
  })

  it('says where answers come from, what is left, and which runs can be resumed', async () => {
    await loadSample(here.home)
    await here.run('engine credits set 1234')
    here.write('in.csv', 'domain\nacme-robotics.example\nlumen-foods.example\n')
    await ends(here.run('accounts enrich --csv in.csv -o out.csv --max-credits 0'), 12)
    for (const terminal of [false, true]) {
      const { stdout } = await ends(here.run('', { terminal }), 0)
      expect(stdout).toContain('Answers from  practice data on this machine (500 sample companies)')
      expect(stdout).toContain('Credits left  1,234')
      expect(stdout).toContain('2,500 profiles per day')
      expect(stdout).toContain('1 run stopped before the end: prospect runs list')
    }
  })

  it('counts a flow that stopped as one run, and none where it ended at its limit', async () => {
    await loadSample(here.home)
    here.write('in.csv', 'domain\nacme-robotics.example\nlumen-foods.example\n')
    const flow = (input: string, rest: string) =>
      `name: two\ninput: { csv: ${input} }\nsteps:\n  - accounts.enrich\n${rest}output: { csv: out.csv }\n`
    here.write('limited.yaml', flow('in.csv', '  - limit: 1\n'))
    await ends(here.run('flow run limited.yaml'), 0)
    expect((await ends(here.run(''), 0)).stdout).not.toContain('stopped before the end')
    here.write('more.csv', 'domain\nbrightwater-energy.example\n')
    here.write('stopped.yaml', `${flow('more.csv', '')}budget: { credits: 0 }\n`)
    await ends(here.run('flow run stopped.yaml'), 12)
    expect((await ends(here.run(''), 0)).stdout).toContain('1 run stopped before the end')
  })

  it('lists at most twelve commands, each of which there is, and says where the rest is', async () => {
    const { stdout } = await ends(here.run(''), 0)
    const commands = commandsIn(stdout)
    expect(commands).toContain('contacts waterfall')
    expect(commands.length).toBeLessThanOrEqual(12)
    for (const words of commands) await ends(here.run(`${words} --help`), 0)
    expect((await ends(here.run('help'), 0)).stdout).toContain('Servers:\n  serve')
    expect(stdout).toContain('prospect help\n')
  })

  it('does not ask a server, and says whether it has a key for it', async () => {
    let requests = 0
    const server = createServer((_, response) => {
      requests++
      response.end('{}')
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    try {
      const { port } = server.address() as AddressInfo
      const url = `http://127.0.0.1:${port}/api/v2`
      const [without, given] = [
        await ends(here.run(['--base-url', url]), 0),
        await ends(
          here.run('', { env: { PROSPECT_BASE_URL: url, PROSPECT_API_KEY: 'pk_1234567890abcdef' } }),
          0,
        ),
      ]
      expect(without.stdout).toContain(`Answers from  127.0.0.1:${port}`)
      expect(without.stdout).toContain('none yet. Store one: prospect login')
      expect(given.stdout).toContain('that of PROSPECT_API_KEY')
      expect(given.stdout).toContain('prospect limits')
      expect(requests).toBe(0)
    } finally {
      server.close()
    }
  })

  it('says what is wrong with settings and databases that cannot be read', async () => {
    here.write('engine.db', 'this is no database, and long enough to be read as one')
    const database = await ends(here.run(''), 0)
    here.write('config.json', '{')
    chmodSync(here.path('config.json'), 0o600)
    const settings = await ends(here.run(''), 0)
    for (const [{ stdout }, file] of [
      [database, 'engine.db'],
      [settings, 'config.json'],
    ] as const)
      expect([stdout.includes(file), stdout.includes('prospect doctor')]).toEqual([true, true])
  })

  it.each([60, 80, 110])('fits %i columns', async (columns) => {
    await loadSample(here.home)
    const { stdout } = await ends(here.run('', { terminal: true, columns }), 0)
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([])
  })
})
