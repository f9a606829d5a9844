import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import autocannon from 'autocannon'
import { binary, root } from '../run.js'
import { domainOf, writeCompanies } from './data.js'
import { startDatabase } from './database.js'
import { askJson, median } from './measure.js'
import { chargeScript, findPgbench, lastTransaction, pgbench } from './pgbench.js'
import { searchOnServer } from './postgres-search.js'
import { startServer } from './server.js'

const credits = 100_000_000
const connections = 64
/** Connections of pgbench: about what one process of ours opens, and as many as it is asked over; the faster counts. */
const clients = [8, connections]
const companies = 500

/** Paid lookups per second with the engine's state on PostgreSQL, against pgbench running the statements of a charge. */
export async function postgres({ folder, quick }) {
  const database = await startDatabase()
  const home = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  const env = { ...process.env, PROSPECT_HOME: home, PROSPECT_DATABASE_URL: database.url }
  const path = await findPgbench()
  if (!path)
    process.stderr.write(
      'pgbench is not on this machine, so that there is nothing to compare with; Debian has it in the package postgresql\n',
    )
  const place = { database, env, path, seconds: quick ? 2 : 5, rounds: quick ? 2 : 3 }
  try {
    const file = join(home, 'companies.csv')
    await writeCompanies(file, companies)
    await askJson([binary, 'data', 'import', 'companies', file, '--json'], env)
    const measurements = []
    for (const count of [1, 100]) measurements.push(...(await chargesOf(count, place)))
    measurements.push(...(await searchOnServer({ database, path, folder, quick })))
    return measurements
  } finally {
    await database.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

/** One process and two in turns with pgbench, on so many workspaces. */
async function chargesOf(count, { database, env, path, seconds, rounds }) {
  const keys = await prepare(database, count)
  const scripts = path ? await scriptsOf(database, env, keys) : []
  const before = await spent(database)
  const runs = new Map([1, 2].map((processes) => [processes, []]))
  const rates = new Map(clients.map((one) => [one, []]))
  let answered = 0
  for (let round = 0; round < rounds; round++) {
    for (const one of path ? clients : [])
      rates.get(one).push(await pgbench(path, database, { scripts, clients: one, seconds }))
    const bench = await spent(database)
    for (const [processes, results] of runs) results.push(await serving(processes, { env, keys, seconds }))
    answered += await checkCharges(
      database,
      bench,
      [...runs.values()].map((results) => results.at(-1)),
    )
  }
  if ((await spent(database)) < before + answered) throw new Error('fewer charges than answers')
  const best = Math.max(...[...rates.values()].map((each) => median(each)))
  const words = [...rates].map(([one, each]) => `${Math.round(median(each))}/s over ${one} connections`)
  return [...runs].map(([processes, results]) => row({ count, processes, results, best, words }))
}

function row({ count, processes, results, best, words }) {
  const rate = median(results.map((one) => one.rate))
  const [p50, p99] = [median(results.map((one) => one.p50)), median(results.map((one) => one.p99))]
  const isCompared = Number.isFinite(best) && best > 0
  return {
    what: `\`POST /accounts/single_enrich\` on PostgreSQL, ${many(count, 'workspace')}, ${many(processes, 'process', 'processes')}, ${connections} connections`,
    measured: `${Math.round(rate)} requests/s (p50 ${Math.round(p50)} ms, p99 ${Math.round(p99)} ms)`,
    baseline: isCompared ? `pgbench, the same charges: ${words.join(', ')}` : 'not run: pgbench is not there',
    ratio: isCompared ? rate / best : Number.NaN,
    ...(isCompared && count === 1 ? { atLeast: 0.6 } : {}),
  }
}

const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`

const spent = async ({ sql }) =>
  Number((await sql("SELECT count(*) AS n FROM movements WHERE kind = 'charge'"))[0].n)

/** Every answer that arrived was charged; at most one more for each connection was cut off on its way. */
async function checkCharges(database, before, results) {
  const charged = (await spent(database)) - before
  const answered = results.reduce((sum, { count }) => sum + count, 0)
  if (charged < answered || charged > answered + results.length * 2 * connections)
    throw new Error(`${answered} answers, but ${charged} charges`)
  return answered
}

/** Sees to it that there are so many workspaces with credits, and companies to look up; answers a key of each. */
async function prepare({ url }, count) {
  const { openEngine } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
  const { admin, close } = await openEngine({ engine: url })
  await admin.init()
  const first = await admin.workspaces()
  for (let at = first.length; at < count; at++) await admin.createWorkspace(`bench ${at}`)
  const keys = []
  for (const { name } of (await admin.workspaces()).slice(0, count)) {
    await admin.useWorkspace(name)
    await admin.setCredits(credits)
    const member = (await admin.members())[0] ?? (await admin.addMember({ email: 'me@localhost' }))
    keys.push((await admin.createKey({ member: member.email })).key)
  }
  await close()
  return keys
}

/** A script for each workspace, made of what the server sees of one charge. */
async function scriptsOf(database, env, keys) {
  await database.sql("ALTER ROLE postgres SET log_statement = 'all'")
  const server = await serve(env)
  const scripts = []
  try {
    for (const key of keys) {
      await ask(server.base, key)
      scripts.push(chargeScript(lastTransaction(database.log())))
    }
  } finally {
    await server.stop()
    await database.sql('ALTER ROLE postgres RESET log_statement')
  }
  return scripts
}

async function ask(base, key) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  const body = JSON.stringify({ domain: domainOf(0) })
  const answer = await fetch(`${base}/accounts/single_enrich`, { method: 'POST', headers, body })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
}

async function serve(env) {
  const words = ['serve', '--port', '0', '--json', '--quiet', '--no-worker']
  const { line, stop } = await startServer([binary, ...words], env)
  return { base: JSON.parse(line).base_url, stop }
}

/** Requests per second of processes that share a load, each warm before it counts. */
async function serving(processes, { env, keys, seconds }) {
  const servers = await Promise.all(Array.from({ length: processes }, () => serve(env)))
  try {
    const shoot = (duration) =>
      Promise.all(servers.map(({ base }) => load(base, keys, connections / processes, duration)))
    const warm = await shoot(1)
    const results = await shoot(seconds)
    const sum = (pick) => results.reduce((all, one) => all + pick(one), 0)
    return {
      rate: sum((one) => one['2xx'] / one.duration),
      p50: Math.max(...results.map(({ latency }) => latency.p50)),
      p99: Math.max(...results.map(({ latency }) => latency.p99)),
      count: sum((one) => one['2xx']) + warm.reduce((all, one) => all + one['2xx'], 0),
    }
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
}

async function load(base, keys, atOnce, duration) {
  const requests = Array.from({ length: companies }, (_, at) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': keys[at % keys.length] },
    body: JSON.stringify({ domain: domainOf((at * 7) % companies) }),
  }))
  const url = `${base}/accounts/single_enrich`
  const result = await autocannon({ url, connections: atOnce, duration, requests })
  const refused = result.non2xx + result.errors + result.timeouts
  if (refused > 0) throw new Error(`${refused} requests to ${url} failed`)
  return result
}
