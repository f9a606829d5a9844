import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { binary, root } from '../run.js'
import { domainOf, writeCompanies, writeQuestions } from './data.js'
import { startDatabase } from './database.js'
import { load } from './load.js'
import { askJson, grouped, median, perSecond, time } from './measure.js'
import { chargesPerSecond, findPgbench } from './pgbench.js'
import { startServer } from './server.js'

const credits = 100_000_000
const connections = 64
/** Connections of pgbench: about as many as one process of ours opens, and as many as it answers; the faster counts. */
const clients = [8, connections]
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

/** Paid lookups per second in one workspace and in a hundred at once; with `all` of two processes as well. */
async function requests(database, all) {
  const path = await findPgbench()
  const home = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  const env = { ...process.env, PROSPECT_HOME: home, PROSPECT_DATABASE_URL: database.url }
  try {
    const file = join(home, 'companies.csv')
    await askJson([binary, 'init', '--json'], env)
    await writeCompanies(file, companies)
    await askJson([binary, 'data', 'import', 'companies', file, '--json'], env)
    const measurements = []
    for (const [count, atLeast] of [
      [1, 2],
      [100, 1],
    ])
      for (const measured of await inWorkspaces(count, { database, env, path, all }))
        measurements.push({ ...measured, atLeast })
    return measurements
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Lookups in so many workspaces, in turns with pgbench that makes the same charges of them. */
async function inWorkspaces(count, { database, env, path, all }) {
  const keys = await createWorkspaces(database, count)
  const members = await database.sql('SELECT workspace_id AS workspace, id AS member FROM members')
  const ours = new Map((all ? [1, 2] : [1]).map((processes) => [processes, []]))
  const theirs = new Map(clients.map((one) => [one, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [one, rates] of theirs)
      rates.push(await chargesPerSecond(path, database, members, one, seconds))
    for (const [processes, results] of ours)
      results.push(await checkedCharges(database, () => serving(processes, env, keys)))
  }
  const rates = [...theirs.values()].map(median)
  return [...ours].map(([processes, results]) => {
    const [rate, p50, p99] = ['rate', 'p50', 'p99'].map((name) => median(results.map((one) => one[name])))
    return {
      what:
        `\`POST /accounts/single_enrich\` on PostgreSQL, ${connections} connections, ` +
        (count > 1 ? `${count} workspaces` : 'one workspace') +
        (processes > 1 ? `, ${processes} processes` : ''),
      measured: `${perSecond(rate, 'requests')}, half within ${Math.round(p50)} ms, 99 % within ${Math.round(p99)} ms`,
      baseline: `pgbench, the same charges, over ${clients.join(' and ')} connections: ${rates.map((one) => perSecond(one, 'charges')).join(' and ')}`,
      ratio: rate / Math.max(...rates),
    }
  })
}

/** Sees to it that there are so many workspaces with credits; returns a key of each. */
async function createWorkspaces({ url }, count) {
  const { openEngine } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
  const { admin, close } = await openEngine({ engine: url })
  try {
    for (let at = (await admin.workspaces()).length; at < count; at++)
      await admin.createWorkspace(`bench ${at}`)
    const keys = []
    for (const { name } of (await admin.workspaces()).slice(0, count)) {
      await admin.useWorkspace(name)
      await admin.setCredits(credits)
      const member = (await admin.members())[0] ?? (await admin.addMember({ email: 'me@localhost' }))
      keys.push((await admin.createKey({ member: member.email })).key)
    }
    return keys
  } finally {
    await close()
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

/** Returns what a load gives, each answer of which was charged once. */
async function checkedCharges({ sql }, measure) {
  const charges = async () =>
    Number((await sql("SELECT count(*) AS n FROM movements WHERE kind = 'charge'"))[0].n)
  const before = await charges()
  const { count, ...result } = await measure()
  const charged = (await charges()) - before
  if (charged !== count) throw new Error(`${count} answers, but ${charged} charges`)
  return result
}

/** Processes that share a load, each warm before it counts. */
async function serving(processes, env, keys) {
  const words = ['serve', '--port', '0', '--json', '--quiet', '--no-worker']
  const servers = await Promise.all(
    Array.from({ length: processes }, () => startServer([binary, ...words], env)),
  )
  try {
    const requests = Array.from({ length: companies }, (_, at) => ({
      key: keys[at % keys.length],
      body: JSON.stringify({ domain: domainOf((at * 7) % companies) }),
    }))
    const shoot = (duration) =>
      Promise.all(
        servers.map(({ line }) => {
          const url = `${JSON.parse(line).base_url}/accounts/single_enrich`
          return load(url, requests, connections / processes, duration)
        }),
      )
    const warm = await shoot(1)
    const results = await shoot(seconds)
    const total = (name, of) => of.reduce((sum, one) => sum + one[name], 0)
    return {
      count: total('count', warm) + total('count', results),
      rate: total('rate', results),
      p50: Math.max(...results.map(({ p50 }) => p50)),
      p99: Math.max(...results.map(({ p99 }) => p99)),
    }
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
}
