import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest } from '../../client/listeners.js'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
beforeEach(async () => {
  await here.fill('companies', 'name,domain\nRobots,robots.example\nRobots Two,robots-two.example\n')
})

/** Queues an import of two companies whose webhook does not answer. */
async function queued(): Promise<string> {
  const argv = 'accounts search --keyword robots --no-wait --webhook-url http://127.0.0.1:9/in'
  return (await here.json<{ id: string }>(argv)).id
}

/** Changes the engine's database without the checks of the program. */
function change(sql: string): void {
  const database = new Database(here.path('engine.db'))
  database.exec(sql)
  database.close()
}

describe('engine jobs', () => {
  it('lists and shows accepted jobs', async () => {
    const id = await queued()
    const job = {
      id,
      operation: 'accounts.search',
      kind: 'account_import',
      state: 'queued',
      done: 0,
      expected: 2,
    }
    expect(await here.json('engine jobs list')).toMatchObject([job])
    expect(await here.json('engine jobs list --state failed')).toEqual([])
    expect(await here.json('engine jobs list --limit 0')).toEqual([])
    expect(await here.json(`engine jobs show ${id}`)).toMatchObject({
      ...job,
      webhook_url: 'http://127.0.0.1:9/in',
      finished_at: null,
    })
  })

  it('runs due jobs and deliveries once, whose records searches get shows', async () => {
    const id = await queued()
    expect(await here.json('engine jobs run')).toEqual({ jobs: 1, deliveries: 1 })
    expect(await here.json('engine jobs run')).toEqual({ jobs: 0, deliveries: 0 })
    expect(await here.json(`engine jobs show ${id}`)).toMatchObject({ state: 'finished', done: 2 })
    const { accounts } = await here.json<{ accounts: { account: { domain: string } }[] }>(
      `searches get ${id}`,
    )
    expect(JSON.stringify(accounts)).toMatch(
      /robots-two\.example.*robots\.example|robots\.example.*robots-two/,
    )
  })

  it('counts every delivery that it attempts', async () => {
    const receiver = closeAfterTest(await answering((_, response) => response.writeHead(200).end()))
    const hook = `--webhook-url http://127.0.0.1:${receiver.port}/in`
    await here.json(`accounts search --keyword robots --streaming --no-wait ${hook}`)
    expect(await here.json('engine jobs run')).toEqual({ jobs: 1, deliveries: 3 })
    expect(await here.json('engine deliveries list --state delivered')).toHaveLength(3)
  })

  it('retries failed jobs only, and exits 9 for unknown ids', async () => {
    const id = await queued()
    await ends(here.run(`engine jobs retry ${id}`), 2, 'only a failed one can be retried')
    for (const words of ['jobs show', 'jobs retry', 'deliveries show', 'deliveries retry'])
      for (const id of ['nothing', '00000000-0000-4000-8000-000000000000'])
        await ends(here.run(`engine ${words} ${id}`), 9)
  })

  it('does not retry the import of a list', async () => {
    const list = `lists create --name A --companies '{"domain":"robots.example"}' --no-wait`
    const { id } = await here.json<{ id: string }>(list)
    change("DROP TRIGGER jobs_forward; UPDATE jobs SET state = 'failed'")
    await ends(here.run(`engine jobs retry ${id}`), 2, 'prospect lists create')
  })
})

interface Listed {
  readonly id: string
}

it('lists deliveries, shows one with its body, and refuses to retry a pending one', async () => {
  const id = await queued()
  await here.json('engine jobs run')
  const [delivery] = await here.json<Listed[]>(`engine deliveries list --job ${id}`)
  expect(delivery).toMatchObject({
    event: 'account_import.completed',
    state: 'pending',
    attempts: 1,
    job_id: id,
  })
  expect(await here.json('engine deliveries list --state delivered')).toEqual([])
  expect(await here.json('engine deliveries list --job other')).toEqual([])
  expect(await here.json('engine', 'deliveries', 'show', delivery?.id ?? '')).toMatchObject({
    body: { event: 'account_import.completed', total: 2 },
  })
  await ends(here.run(['engine', 'deliveries', 'retry', delivery?.id ?? '']), 9)
  change("UPDATE deliveries SET state = 'failed'")
  expect(await here.json('engine', 'deliveries', 'retry', delivery?.id ?? '')).toEqual({ retried: 1 })
  expect(await here.json('engine deliveries list --state pending')).toHaveLength(1)
})

describe('engine webhooks secret', () => {
  const secret = async (...options: string[]) =>
    (await here.json<{ secret: string }>('engine', 'webhooks', 'secret', ...options)).secret

  it('prints the same signing secret until it is rotated', async () => {
    const first = await secret()
    expect(first).toMatch(/^whsec_/)
    expect(await secret()).toBe(first)
    const second = await secret('--rotate')
    expect(second).not.toBe(first)
    expect(await secret()).toBe(second)
  })
})
