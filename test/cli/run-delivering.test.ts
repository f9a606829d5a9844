import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, type Listener, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)

const url = 'https://www.network.example/search/results/people/?keywords=sales'

async function sellers(count: number): Promise<void> {
  const lines = Array.from(
    { length: count },
    (_, at) => `Ann,Number${at},Head of Sales,https://www.network.example/in/ann-${at}`,
  )
  const stdin = `first_name,last_name,title,network_profile_url\n${lines.join('\n')}\n`
  await here.run(['data', 'import', 'people', '-'], { stdin })
}

describe('webhooks of a command', () => {
  let server: Listener
  let bodies: unknown[]
  let answer: number
  beforeEach(async () => {
    bodies = []
    answer = 200
    server = await answering(async (request, response) => {
      bodies.push(JSON.parse((await received(request)).body))
      response.writeHead(answer).end()
    })
  })
  afterEach(() => server.close())

  const hook = () => `http://127.0.0.1:${server.port}/secret-path`

  it('attempts the deliveries of its job before it exits', async () => {
    await sellers(2)
    const { code, stderr } = await here.run([
      'leads',
      'extract',
      url,
      '--webhook-url',
      hook(),
      '--custom',
      'run=7',
    ])
    expect([code, stderr]).toEqual([0, expect.stringContaining('Delivered to 127.0.0.1')])
    expect(bodies).toMatchObject([{ event: 'lead_search.completed', total: 2, custom: { run: 7 } }])
    expect(stderr).not.toContain('secret-path')
  })

  it('keeps a failed delivery pending and says so', async () => {
    answer = 500
    await sellers(1)
    const { code, stderr } = await here.run(['leads', 'extract', url, '--webhook-url', hook()])
    expect([code, stderr]).toEqual([0, expect.stringContaining('Not delivered to 127.0.0.1')])
    const [delivery] = await here.json<{ id: string; state: string }[]>('engine', 'deliveries', 'list')
    expect(delivery).toMatchObject({ state: 'pending', attempts: 1, status: 500 })
  })

  it('engine jobs run makes the deliveries of a job started with --no-wait', async () => {
    await sellers(1)
    await here.run(['leads', 'extract', url, '--webhook-url', hook(), '--no-wait'])
    expect(bodies).toEqual([])
    expect(await here.json('engine', 'jobs', 'run')).toEqual({ jobs: 1, deliveries: 1 })
    expect(bodies).toHaveLength(1)
  })
})
