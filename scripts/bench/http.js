import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import Database from 'better-sqlite3'
import { binary } from '../run.js'
import { domainOf } from './data.js'
import { askJson, median } from './measure.js'
import { startServer } from './server.js'

const bareServer = fileURLToPath(new URL('bare-server.js', import.meta.url))
const credits = 100_000_000
const connections = 128

/** Requests per second of a paid lookup with every rule on, against a bare server that gives the same answer. */
export async function http({ env, quick, catalogue }) {
  await askJson([binary, 'engine', 'credits', 'set', String(credits), '--json'], env)
  const { member } = await askJson([binary, 'init', '--json'], env)
  const { key } = await askJson([binary, 'engine', 'keys', 'create', '--member', member, '--json'], env)
  const ours = await startServer([binary, 'serve', '--port', '0', '--json', '--quiet'], env)
  try {
    const compared = await compare(JSON.parse(ours.line).base_url, key, { quick, catalogue })
    return [compared.measurement, faultCheck(env.PROSPECT_HOME, 1e6 / compared.rate)]
  } finally {
    await ours.stop()
  }
}

async function compare(base, key, { quick, catalogue }) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  const bodies = Array.from({ length: 500 }, (_, index) =>
    JSON.stringify({ domain: domainOf((index * 7) % catalogue) }),
  )
  const answer = await fetch(`${base}/accounts/single_enrich`, { method: 'POST', headers, body: bodies[0] })
  const bare = await startServer([bareServer], { ...process.env, BODY: await answer.text() })
  const rates = { ours: [], bare: [] }
  const load = { headers, bodies, seconds: quick ? 2 : 4 }
  let answered = 1
  try {
    for (let round = 0; round < (quick ? 3 : 5); round++) {
      rates.bare.push((await shoot(`http://127.0.0.1:${bare.line}/accounts/single_enrich`, load)).rate)
      const { rate, count } = await shoot(`${base}/accounts/single_enrich`, load)
      rates.ours.push(rate)
      answered += count
    }
  } finally {
    await bare.stop()
  }
  await checkCharges(base, headers, answered)
  const [measured, baseline] = [median(rates.ours), median(rates.bare)]
  const measurement = {
    what: `\`POST /accounts/single_enrich\`, ${connections} connections, every rule on, each charge durable`,
    measured: `${Math.round(measured)} requests/s`,
    baseline: `bare \`node:http\`: ${Math.round(baseline)} requests/s`,
    ratio: measured / baseline,
    atLeast: 1 / 4,
  }
  return { measurement, rate: measured }
}

/** What each request reads to find out that no fault is set, against the time of a whole request in microseconds. */
function faultCheck(home, requestMicros) {
  const database = new Database(join(home, 'engine.db'), { readonly: true })
  const reads = 100_000
  const microsOf = (columns) => {
    const statement = database.prepare(`SELECT ${columns} FROM workspaces w`)
    const began = process.cpuUsage()
    for (let at = 0; at < reads; at++) statement.get()
    return process.cpuUsage(began).user / reads
  }
  const faults = '(SELECT count(*) FROM faults f WHERE f.workspace_id = w.id) AS faults'
  const micros = median(Array.from({ length: 5 }, () => microsOf(`w.id, ${faults}`) - microsOf('w.id')))
  database.close()
  return {
    what: 'The same request: to find that no fault is set (`engine faults`)',
    measured: `${micros.toFixed(2)} µs`,
    baseline: `the whole request: ${Math.round(requestMicros)} µs`,
    ratio: micros / requestMicros,
    atMost: 0.03,
  }
}

async function shoot(url, { headers, bodies, seconds }) {
  const requests = bodies.map((body) => ({ method: 'POST', headers, body }))
  const result = await autocannon({ url, connections, duration: seconds, requests })
  const refused = result.non2xx + result.errors + result.timeouts
  if (refused > 0) throw new Error(`${refused} requests to ${url} failed`)
  return { rate: result['2xx'] / result.duration, count: result['2xx'] }
}

/** Every answer that arrived was charged; at most one more per connection and round was cut off on its way. */
async function checkCharges(base, headers, answered) {
  const reply = await (await fetch(`${base}/credits`, { headers })).json()
  const charged = credits - reply.credits.enrichment
  if (charged < answered || charged > answered + connections * 5)
    throw new Error(`${answered} answers, but ${charged} charges`)
}
