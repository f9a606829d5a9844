import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { binary } from '../run.js'
import { fillDashboard } from './dashboard-data.js'
import { askJson, grouped, median } from './measure.js'
import { startServer } from './server.js'

/** The longest time of the server for a view, in milliseconds, and the most that a browser loads at first. */
const maxMs = 150
const rounds = 15
const maxBytes = 200_000

const sizes = { companies: 1_000_000, runs: 10_000, deliveries: 100_000 }

/** Time of the server for the slowest view of the dashboard over a lot of data, and the size of the first load. */
export async function dashboard({ env, folder }) {
  const own = { ...env, PROSPECT_HOME: join(folder, 'dashboard-home') }
  await askJson([binary, 'init', '--json'], own)
  await askJson([binary, 'engine', 'credits', 'set', '100000000', '--json'], own)
  await fillDashboard(folder, own, sizes)
  const server = await startServer(
    [binary, 'dashboard', '--port', '0', '--json', '--quiet', '--no-open'],
    own,
  )
  try {
    return await measure(new URL(JSON.parse(server.line).url), own)
  } finally {
    await server.stop()
  }
}

async function measure(link, env) {
  const { post, listen } = await signIn(link)
  const shell = await (await fetch(`${link.origin}/dashboard`)).text()
  const names = [...shell.matchAll(/<a href="\/dashboard\/?([a-z-]*)">([^<]+)<\/a>/g)]
  const assets = [...shell.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path)
  const loaded = [
    shell,
    ...(await Promise.all(assets.map(async (path) => (await fetch(link.origin + path)).text()))),
  ]
  const views = []
  for (const [, name, title] of names) {
    const times = []
    for (let round = 0; round < rounds; round++) {
      const began = performance.now()
      const text = await post(`/data/${name}`)
      times.push(performance.now() - began)
      if (name === '' && round === 0) loaded.push(text)
    }
    views.push({ title, ms: median(times) })
  }
  const [slowest] = views.sort((one, other) => other.ms - one.ms)
  const amounts = Object.entries(sizes)
    .map(([what, count]) => `${grouped(count)} ${what}`)
    .join(', ')
  const bytes = loaded.reduce((sum, text) => sum + gzipSync(text).length, 0)
  return [
    {
      what: `Dashboard: time of the server for its slowest view over ${amounts}`,
      measured: `*${slowest.title}*: ${slowest.ms.toFixed(0)} ms`,
      baseline: `${maxMs} ms`,
      ratio: slowest.ms / maxMs,
      atMost: 1,
    },
    {
      what: 'Dashboard: first load, compressed',
      measured: `${(bytes / 1_000).toFixed(1)} kB`,
      baseline: `${maxBytes / 1_000} kB`,
      ratio: bytes / maxBytes,
      atMost: 1,
    },
    await measureChange(listen, env),
  ]
}

const maxLateMs = 1_000

/** The longest time from the end of a command that changes the balance until open pages are told. */
async function measureChange(listen, env) {
  const told = await listen()
  let longest = 0
  for (let round = 1; round <= 5; round++) {
    const change = told()
    await askJson([binary, 'engine', 'credits', 'set', String(100_000_000 + round), '--json'], env)
    const ended = performance.now()
    await change
    longest = Math.max(longest, performance.now() - ended)
  }
  await told.close()
  return {
    what: 'Dashboard: from a change by another process until open pages are told, the longest of five',
    measured: `${longest.toFixed(0)} ms`,
    baseline: `${maxLateMs} ms`,
    ratio: longest / maxLateMs,
    atMost: 1,
  }
}

/** Signs in with a link as the page does. Returns what sends its requests, and what listens for changes. */
async function signIn({ origin, hash }) {
  const proof = { origin, 'content-type': 'application/json' }
  const send = async (path, fields = {}, signal = undefined) => {
    const answer = await fetch(`${origin}/dashboard${path}`, {
      method: 'POST',
      headers: proof,
      body: JSON.stringify(fields),
      signal,
    })
    if (!answer.ok) throw new Error(`${path} was answered by ${answer.status}: ${await answer.text()}`)
    return answer
  }
  const answer = await send('/session', { link: hash.slice(1) })
  proof['x-dashboard-token'] = (await answer.json()).token
  proof.cookie = answer.headers.get('set-cookie').split(';')[0]
  return {
    post: async (path, fields) => (await send(path, fields)).text(),
    /** Opens the stream of changes. What it returns resolves with the next one. */
    listen: async () => {
      const end = new AbortController()
      const stream = (await send('/live', {}, end.signal)).body.pipeThrough(new TextDecoderStream())
      let heard = () => {}
      const reading = (async () => {
        for await (const text of stream) if (text.includes('event: changed')) heard()
      })().catch(() => {})
      const told = () => new Promise((resolve) => (heard = resolve))
      told.close = async () => {
        end.abort()
        await reading
      }
      return told
    },
  }
}
