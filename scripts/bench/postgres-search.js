import { linkSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { binary } from '../run.js'
import { askJson } from './measure.js'
import { pgbenchMs, questionsOf } from './pgbench.js'
import { questions } from './questions.js'
import { openAsker, population, searchIn } from './search.js'

/** A connection has to look up much for its first question only. */
const times = 10
const name = 'people'
/** How our connections ask, and where. */
const settings = [
  'search_path=public_catalogue',
  'plan_cache_mode=force_custom_plan',
  'jit=off',
  'max_parallel_workers_per_gather=0',
  'random_page_cost=1.1',
]

/** Previews with the catalogue on a server, against pgbench asking the same server what each of them asks it. */
export async function searchOnServer({ database, path, folder, quick }) {
  const address = await copied(await population(folder, quick), database)
  const measurements = await searchIn(address, { quick, where: ' on PostgreSQL', limits: [] })
  if (!path) return measurements
  const asked = await statementsOf(database, address)
  const asker = await openAsker(address)
  const [ours, theirs] = [[], []]
  try {
    for (const [at, question] of questions.entries()) {
      for (let time = 0; time < times; time++) ours.push(await asker.ask(question))
      theirs.push(await pgbenchMs(path, database, { database: name, questions: asked[at], times, settings }))
    }
  } finally {
    await asker.close()
  }
  return [...measurements, comparison(perSecond(ours), perSecond(theirs))]
}

const perSecond = (times) => (1_000 * times.length) / times.reduce((sum, ms) => sum + ms, 0)

const comparison = (ours, theirs) => ({
  what: 'The same questions on PostgreSQL, one after the other',
  measured: `${ours.toFixed(1)} previews/s`,
  baseline: `pgbench, the same statements: ${theirs.toFixed(1)}/s`,
  ratio: ours / theirs,
})

/** Copies a catalogue to a database of its own on the server; answers its address. */
async function copied(catalogue, { sql, url }) {
  await sql(`CREATE DATABASE ${name}`)
  const address = url.replace('/postgres?', `/${name}?`)
  const home = mkdtempSync(join(tmpdir(), 'prospect-bench-'))
  try {
    linkSync(catalogue, join(home, 'catalogue.db'))
    const env = { ...process.env, PROSPECT_HOME: home, PROSPECT_DATABASE_URL: address }
    await askJson([binary, 'data', 'copy', 'server', '--json'], env)
    return address
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** What the server is asked for each question. */
async function statementsOf({ sql, log }, address) {
  await sql("ALTER ROLE postgres SET log_statement = 'all'")
  const asker = await openAsker(address)
  const asked = []
  try {
    for (const question of questions) {
      const from = log().length
      await asker.ask(question)
      asked.push(questionsOf(log().slice(from)))
    }
  } finally {
    await asker.close()
    await sql('ALTER ROLE postgres RESET log_statement')
  }
  return asked
}
