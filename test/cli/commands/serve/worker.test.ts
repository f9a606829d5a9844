import { beforeEach, describe, expect, it } from 'vitest'
import { reportTrouble } from '../../../../src/cli/target/local-target.js'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { ask } from '../../call/serving.js'

const here = perTest(machine)
beforeEach(() => here.fill('companies', 'name,domain\nRobots,robots.example\n'))

const tick = () => new Promise((resolve) => setTimeout(resolve, 10))

async function queued(): Promise<string> {
  const argv = 'accounts search --keyword robots --no-wait'
  return (await here.json<{ id: string }>(argv)).id
}

const stateOf = async (id: string) => (await here.json<{ state: string }>(`engine jobs show ${id}`)).state

async function finished(id: string): Promise<void> {
  while ((await stateOf(id)) !== 'finished') await tick()
}

it.each(['SIGTERM', 'SIGINT'])('worker runs queued jobs until %s, and exits 0', async (signal) => {
  const id = await queued()
  const ended = here.run('worker')
  await finished(id)
  here.signals.emit(signal)
  expect(await ended).toMatchObject({ code: 0, stdout: '' })
})

it('reports the same trouble of accepted work once until another comes', () => {
  const notices: string[] = []
  const report = reportTrouble({ notify: (text: string) => void notices.push(text) } as never)
  for (const text of ['disk full', 'disk full', 'database away', 'disk full']) report(new Error(text))
  expect(notices.map((text) => text.replace('Queued jobs are paused: ', ''))).toEqual([
    'disk full',
    'database away',
    'disk full',
  ])
})

/** Starts a server on a free port in this process. */
const serving = (...options: string[]) => here.start(['serve', '--port', '0', ...options])

describe('jobs of serve', () => {
  it('runs the jobs it accepts', async () => {
    const id = await queued()
    const { stop } = await serving()
    await finished(id)
    expect((await stop()).code).toBe(0)
  })

  it('leaves queued jobs to other workers with --no-worker', async () => {
    const id = await queued()
    const { stop } = await serving('--no-worker')
    for (let turn = 0; turn < 10; turn++) await tick()
    expect(await stateOf(id)).toBe('queued')
    await stop()
  })

  it.each([
    ['a webhook to loopback on a loopback server', [], 202],
    ['a webhook to a private network', [], 400, 'http://10.9.8.7/in', '10.9.8.7/32'],
    ['a webhook to an allowed network', ['--allow-target', '10.9.0.0/16'], 202, 'http://10.9.8.7/in'],
    [
      'a webhook to loopback on a public server',
      ['--host', '0.0.0.0', '--public'],
      400,
      undefined,
      '127.0.0.1/32',
    ],
  ] as const)(
    '%s with options %j is answered by %i',
    async (_, options, status, hook: string = 'http://127.0.0.1:9/in', network: string = '') => {
      const key = await here.newKey()
      const { line, stop } = await serving('--no-worker', ...options)
      const server = { baseUrl: line.replace('0.0.0.0', '127.0.0.1'), key }
      const answer = await ask(server, '/accounts/search', { keyword: 'robots', webhook_url: hook })
      const advice = network && `Start the server with --allow-target ${network}.`
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(advice)])
      await stop()
    },
  )
})
