import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { binary } from '../run.js'
import { domainOf } from './data.js'
import { askJson, grouped, median, perSecond } from './measure.js'
import { startServer } from './server.js'

const bareServer = fileURLToPath(new URL('bare-server.js', import.meta.url))
const credits = 100_000_000
const connections = 128
const [rounds, seconds] = [3, 4]

/** Requests per second of a paid lookup with every rule on, against a bare server that gives the same answer. */
export async function http({ env, catalogue }) {
  await askJson([binary, 'engine', 'credits', 'set', String(credits), '--json'], env)
  const { member } = await askJson([binary, 'init', '--json'], env)
  const { key } = await askJson([binary, 'engine', 'keys', 'create', '--member', member, '--json'], env)
  const ours = await startServer([binary, 'serve', '--port', '0', '--json', '--quiet'], env)
  try {
    return [await compare(JSON.parse(ours.line).base_url, key, catalogue)]
  } finally {
    await ours.stop()
  }
}

async function compare(base, key, catalogue) {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  const bodies = Array.from({ length: 500 }, (_, index) =>
    JSON.stringify({ domain: domainOf((index * 7) % catalogue) }),
  )
  const answer = await fetch(`${base}/accounts/single_enrich`, { method: 'POST', headers, body: bodies[0] })
  const bare = await startServer([bareServer], { ...process.env, BODY: await answer.text() })
  const rates = { ours: [], bare: [] }
  const requests = bodies.map((body) => ({ method: 'POST', headers, body }))
  let answered = 1
  try {
    for (let round = 0; round < rounds; round++) {
      rates.bare.push((await shoot(`http://127.0.0.1:${bare.line}/`, requests)).rate)
      const { rate, count } = await shoot(base, requests)
      rates.ours.push(rate)
      answered += count
    }
  } finally {
    await bare.stop()
  }
  await checkCharges(base, headers, answered)
  const [measured, baseline] = [median(rates.ours), median(rates.bare)]
  return {
    what: `\`POST /accounts/single_enrich\`, ${connections} connections, every rule on, each charge durable`,
    measured: perSecond(measured, 'requests'),
    baseline: `bare \`node:http\`: ${perSecond(baseline, 'requests')}`,
    ratio: measured / baseline,
    atLeast: 1 / 4,
  }
}

async function shoot(base, requests) {
  const url = new URL('accounts/single_enrich', `${base}/`).href
  const result = await autocannon({ url, connections, duration: seconds, requests })
  const refused = result.non2xx + result.errors + result.timeouts
  if (refused > 0) throw new Error(`${refused} requests to ${url} failed`)
  return { rate: result['2xx'] / result.duration, count: result['2xx'] }
}

/** Every answer that arrived was charged; at most one more per connection and round was cut off on its way. */
async function checkCharges(base, headers, answered) {
  const reply = await (await fetch(`${base}/credits`, { headers })).json()
  const charged = credits - reply.credits.enrichment
  if (charged < answered || charged > answered + connections * rounds)
    throw new Error(`${grouped(answered)} answers, but ${grouped(charged)} charges`)
}
