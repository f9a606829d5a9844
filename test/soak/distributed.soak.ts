import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { openCluster } from '../support/distributed.js'
import { perFile } from '../support/each.js'
import { ownServer } from '../support/postgres.js'
import { prospect } from '../support/processes.js'
import { grouped, soak, some } from './soak.js'

const rows = some(100_000)

/** One row in seven repeats one before it, one in eleven is in no catalogue. */
const domainOf = (row: number): string => {
  if (row % 7 === 6) return domainOf(row >> 1)
  return row % 11 === 5 ? `unknown-${row}.example` : `company-${row}.example`
}
const isKnown = (domain: string): boolean => domain.startsWith('company-')

const enrich = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--distribute', '--quiet']

const domains = Array.from({ length: rows }, (_, row) => domainOf(row))
const known = [...new Set(domains.filter(isKnown))]
const price = known.length

const server = perFile(ownServer)
const cluster = perFile(() => openCluster(prospect, server, known))

async function charged(share: number): Promise<void> {
  while ((await cluster.charges()) < share * price) await pause(100)
}

/** The run, again until the lock of the one that was killed is free. */
async function resumed() {
  for (;;) {
    const ended = await cluster.run(...enrich)
    if (ended.exitCode !== 15) return ended
    await pause(1_000)
  }
}

soak('P19', 'a run on three workers is complete, though two workers and the command are killed', async () => {
  cluster.write('in.csv', `Website\n${domains.join('\n')}\n`)
  const workers = await Promise.all([1, 2, 3].map(() => cluster.worker()))
  const first = cluster.start(enrich)
  await charged(0.2)
  await workers[0]?.end('SIGKILL')
  await charged(0.4)
  first.kill('SIGKILL')
  await first
  const going = resumed()
  await charged(0.6)
  await workers[1]?.end('SIGKILL')
  workers.push(await cluster.worker())
  const { exitCode, stderr } = await going
  expect([exitCode, stderr]).toEqual([0, ''])
  const out = cluster.rows('out.csv')
  expect(out.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of out)
    expect([domain, _status]).toEqual(isKnown(Website) ? [Website, 'found'] : ['', 'not_found'])
  const told = out.reduce((sum, { _credits }) => sum + Number(_credits), 0)
  const [ledger] = await server.sql("SELECT sum(amount) AS paid FROM movements WHERE kind = 'charge'")
  expect([told, Number(ledger?.paid)]).toEqual([price, price])
  expect(await cluster.json('engine', 'ledger', 'verify')).toMatchObject({ ok: true, problems: [] })
  expect(await server.sql('SELECT id FROM chunks')).toEqual([])
  return { tried: `${grouped(rows)} rows`, measured: `${grouped(price)} credits` }
})
