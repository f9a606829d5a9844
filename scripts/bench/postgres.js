import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import autocannon from 'autocannon'
import pg from 'pg'
import { binary } from '../run.js'
import { domainOf, writeCompanies, writeQuestions } from './data.js'
import { startDatabase } from './database.js'
import { askJson, grouped, median, perSecond, time } from './measure.js'
import { startServer } from './server.js'

const credits = 100_000_000
const connections = 64
/** About as many as one process of ours opens. */
const bareConnections = 8
const companies = 500
const [rounds, seconds] = [3, 4]
const rows = 20_000

/** Paid lookups over HTTP, then batches, of programs with their engine on PostgreSQL. */
export async function postgres({ all }) {
  const database = await startDatabase()
  try {
    return [...(await requests(database, all)), ...(all ? await batches(database) : [])]
  } finally {
    await database.stop()
  }
}

/**
 * Paid lookups per second of one process, against connections that each insert a row of the size of a charge and commit it,
 * again and again; with `all` of two processes as well.
 */
async function requests(database, all) {
  const home = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  const env = { ...process.env, PROSPECT_HOME: home, PROSPECT_DATABASE_URL: database.url }
  try {
    const file = join(home, 'companies.csv')
    const { member } = await askJson([binary, 'init', '--json'], env)
    await writeCompanies(file, companies)
    await askJson([binary, 'data', 'import', 'companies', file, '--json'], env)
    await askJson([binary, 'engine', 'credits', 'set', String(credits), '--json'], env)
    const { key } = await askJson([binary, 'engine', 'keys', 'create', '--member', member, '--json'], env)
    const runs = new Map((all ? [1, 2] : [1]).map((processes) => [processes, []]))
    const bare = []
    let answered = 0
    for (let round = 0; round < rounds; round++) {
      bare.push(await commits(database))
      for (const [processes, rates] of runs) {
        const { rate, count } = await serving(processes, env, key)
        rates.push(rate)
        answered += count
      }
    }
    await checkCharges(database, answered, runs.size)
    return [...runs].map(([processes, rates]) => figure(processes, median(rates), median(bare)))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/**
 * Rows per second of a batch that keeps its run on PostgreSQL, beside its engine, against the same batch in files; then of two
 * machines, each with half of the rows, against one.
 */
async function batches(database) {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  const machine = async (name, more) => {
    const env = { ...process.env, ...more, PROSPECT_HOME: join(folder, name) }
    await askJson([binary, 'init', '--json'], env)
    await askJson([binary, 'engine', 'credits', 'set', String(credits), '--json'], env)
    return env
  }
  try {
    const file = join(folder, 'companies.csv')
    await writeCompanies(file, rows)
    const inFiles = await machine('files', {})
    const there = { PROSPECT_DATABASE_URL: database.url }
    const [one, other] = [await machine('one', there), await machine('other', there)]
    for (const env of [inFiles, one])
      await askJson([binary, 'data', 'import', 'companies', file, '--json'], env)
    const rates = { files: [], one: [], two: [] }
    let start = 0
    const run = async (env, count, ...options) => {
      const [input, output] = [join(folder, `${start}.csv`), join(folder, `${start}-answered.csv`)]
      await writeQuestions(input, count, { catalogue: rows, known: 9, start: start++ })
      const words = ['accounts', 'enrich', '--csv', input, '-o', output, '--refresh', '--yes', '--quiet']
      return [() => time([binary, ...words, ...options], env), count]
    }
    const rate = async (...runs) => {
      const began = performance.now()
      await Promise.all(runs.map(([go]) => go()))
      return (1_000 * runs.reduce((sum, [, count]) => sum + count, 0)) / (performance.now() - began)
    }
    const shared = ['--database', database.url]
    for (let round = 0; round < rounds; round++) {
      rates.files.push(await rate(await run(inFiles, rows)))
      rates.one.push(await rate(await run(one, rows, ...shared)))
      const halves = [await run(one, rows / 2, ...shared), await run(other, rows / 2, ...shared)]
      rates.two.push(await rate(...halves))
    }
    const [files, alone, two] = [rates.files, rates.one, rates.two].map(median)
    const what = `\`accounts enrich --csv\` with its run on PostgreSQL, ${grouped(rows)} rows`
    return [
      {
        what,
        measured: perSecond(alone, 'rows'),
        baseline: `the same in files: ${perSecond(files, 'rows')}`,
        ratio: alone / files,
        atLeast: 0.2,
      },
      {
        what: `${what}, half of them by each of two machines`,
        measured: perSecond(two, 'rows'),
        baseline: `all by one: ${perSecond(alone, 'rows')}`,
        ratio: two / alone,
        // They share the cores of one machine with the server.
        atLeast: 0.8,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const figure = (processes, rate, baseline) => ({
  what:
    `\`POST /accounts/single_enrich\` on PostgreSQL, ${connections} connections` +
    (processes > 1 ? `, ${processes} processes` : ''),
  measured: perSecond(rate, 'requests'),
  baseline: `an INSERT and its COMMIT over ${bareConnections} connections: ${perSecond(baseline, 'commits')}`,
  ratio: rate / baseline,
  atLeast: 0.6,
})

/** Commits per second of connections that do nothing else. */
async function commits({ folder, port, sql }) {
  await sql('CREATE TABLE IF NOT EXISTS bare (id BIGSERIAL PRIMARY KEY, content TEXT NOT NULL)')
  const clients = Array.from(
    { length: bareConnections },
    () => new pg.Client({ host: folder, port, user: 'postgres', database: 'postgres' }),
  )
  let [isOver, count] = [false, 0]
  const repeat = async (client) => {
    await client.connect()
    while (!isOver) {
      await client.query({
        name: 'bare',
        text: 'INSERT INTO bare (content) VALUES ($1)',
        values: ['x'.repeat(200)],
      })
      count++
    }
    await client.end()
  }
  const repeating = Promise.all(clients.map(repeat))
  await pause(seconds * 1_000)
  isOver = true
  await repeating
  return count / seconds
}

/** Every answer that arrived was charged; at most one more for each connection was cut off on its way. */
async function checkCharges({ sql }, answered, kinds) {
  const [{ n }] = await sql("SELECT count(*) AS n FROM movements WHERE kind = 'charge'")
  const most = answered + 2 * rounds * kinds * connections
  if (Number(n) < answered || Number(n) > most) throw new Error(`${answered} answers, but ${n} charges`)
}

/** Requests per second of processes that share a load, each warm before it counts; and how many were answered in all. */
async function serving(processes, env, key) {
  const words = ['serve', '--port', '0', '--json', '--quiet', '--no-worker']
  const servers = await Promise.all(
    Array.from({ length: processes }, () => startServer([binary, ...words], env)),
  )
  try {
    const shoot = (duration) =>
      Promise.all(
        servers.map(({ line }) => load(JSON.parse(line).base_url, key, connections / processes, duration)),
      )
    const answersOf = (results) => results.reduce((sum, one) => sum + one['2xx'], 0)
    const warm = answersOf(await shoot(1))
    const results = await shoot(seconds)
    const rate = results.reduce((sum, one) => sum + one['2xx'] / one.duration, 0)
    return { rate, count: warm + answersOf(results) }
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
}

async function load(base, key, atOnce, duration) {
  const requests = Array.from({ length: companies }, (_, at) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ domain: domainOf(at) }),
  }))
  const url = `${base}/accounts/single_enrich`
  const result = await autocannon({ url, connections: atOnce, duration, requests })
  const refused = result.non2xx + result.errors + result.timeouts
  if (refused > 0) throw new Error(`${refused} requests to ${url} failed`)
  return result
}
