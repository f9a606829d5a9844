import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { proxyOf, servingMachine } from '../cli/call/serving.js'
import { closeAfterTest } from '../client/listeners.js'
import { type Machine, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { loadSample, sampledDatabase } from '../support/sample.js'

const names = readdirSync('docs/examples/flows').filter((name) => name.endsWith('.yaml'))

const here = perFile(machine)

/** Gives a machine the examples of the documents. */
const withExamples = (at: Machine): Machine => {
  cpSync('docs/examples', join(at.home, 'examples'), { recursive: true })
  return at
}

/** Runs a flow, and returns what it wrote. */
async function outputOf(at: Machine, name: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await at.run(['flow', 'run', `examples/flows/${name}`], { env })
  expect([name, code, stderr]).toEqual([name, 0, expect.stringContaining('written to')])
  const file = /written to (.*)\.$/m.exec(stderr)?.[1] ?? ''
  return readFileSync(file, 'utf8')
}

const prepare = async (at: Machine, env: Record<string, string> = {}) => {
  if (!env.PROSPECT_DATABASE_URL) await loadSample(at.home)
  await at.run(['engine', 'credits', 'add', '1000'], { env })
}

it('a flow that finds nothing in practice data says that all of it is invented, and what to do', async () => {
  const one = machine()
  await prepare(one)
  one.write('list.csv', 'domain\nsiemens.com\n')
  const steps = 'steps: [accounts.enrich]\noutput: { csv: out.csv }\n'
  one.write('flow.yaml', `name: real\ninput: { csv: list.csv }\n${steps}`)
  const { stderr } = await one.run('flow run flow.yaml')
  expect(stderr).toContain('All of it is invented. For real records, prospect init connects a vendor')
})

/** What each flow to begin with costs over the sample data, as the documents say. */
const prices = [
  ...readFileSync('docs/flows.md', 'utf8').matchAll(/^\| \[`([\w-]+)`\]\(examples.*\| (\d+) \|$/gm),
]

it('has a price in the documents for each flow to begin with', async () => {
  const { stderr } = await here.run('flow new')
  expect(prices.map(([, name]) => name).join(', ')).toBe(/Choose a flow: (.*)\./.exec(stderr)?.[1])
})

it.each(prices.map(([, name = '', credits]) => [name, Number(credits)] as const))(
  'the flow to begin with %s is written, is right, and costs what the documents say over the sample data',
  async (name, credits) => {
    const at = machine()
    await loadSample(at.home)
    await at.run('engine credits set 1000')
    expect(await at.run(`flow new --from ${name} -o own.yaml`)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Written to own.yaml.'),
    })
    expect(await at.run('flow check own.yaml')).toMatchObject({ code: 0 })
    const { json } = await at.run('flow quote own.yaml --json')
    const { code, stderr } = await at.run('flow run own.yaml')
    expect([code, stderr]).toEqual([0, expect.stringMatching(/: [1-9]\d* rows? in .*, written to/)])
    const paid = 1_000 - (await at.balance())
    expect([name, paid]).toEqual([name, credits])
    expect((json as { credits: { max: number } }).credits.max).toBeGreaterThanOrEqual(paid)
    // What is there is replaced only where that is wanted, and a file of the same rows is left alone.
    at.write('own.yaml', 'mine')
    expect((await at.run(`flow new --from ${name} -o own.yaml`)).code).toBe(2)
    expect(at.read('own.yaml')).toBe('mine')
    at.remove()
  },
)

it('a flow to begin with that there is not is refused with the nearest one, and without a file it is printed', async () => {
  expect(await here.run('flow new --from teritory')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean territory?'),
  })
  const { stdout } = await here.run('flow new --from inbound')
  expect(stdout).toBe(readFileSync('docs/examples/flows/inbound.yaml', 'utf8').replace('../', ''))
})

describe('the flow of the documents', () => {
  const alone = perFile(machine)
  const shared = perFile(machine)
  const database = perFile(() => sampledDatabase(shared.home))
  const env = () => ({ PROSPECT_DATABASE_URL: database.url })
  beforeAll(async () => {
    await prepare(withExamples(alone))
    await prepare(withExamples(shared), env())
  })
  /** A machine with the examples, until the test has finished. */
  const copied = () => {
    const one = withExamples(machine())
    onTestFinished(() => one.remove())
    return one
  }
  const paid = (at: Machine) => at.json('ledger --by operation')

  it.each(names)(
    '%s finds people or companies, and the same at the same price on PostgreSQL',
    async (name) => {
      const found = await outputOf(alone, name)
      expect(found.split('\n').length).toBeGreaterThan(2)
      expect(await outputOf(shared, name, env())).toBe(found)
      expect(await paid(shared)).toEqual(await paid(alone))
    },
  )

  it('sales-leads.yaml finds the same at a server, and at a proxy for the same price', async () => {
    const [own, client, second] = [copied(), copied(), copied()]
    await prepare(own)
    const found = await outputOf(own, 'sales-leads.yaml')
    const server = closeAfterTest(await servingMachine(prepare))
    expect(await outputOf(client, 'sales-leads.yaml', server.env)).toBe(found)
    // Answers of a proxy are those of its server.
    const proxy = await proxyOf(server)
    expect(await outputOf(second, 'sales-leads.yaml', proxy.env)).toBe(found)
    expect(await paid(second)).toEqual(await paid(client))
  })
})
