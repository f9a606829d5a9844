import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { binary } from '../run.js'
import { fillDashboard, largeSizes } from './dashboard-data.js'
import { askJson, median } from './measure.js'
import { startServer } from './server.js'

/** The longest time of the server for a view, in milliseconds, and the most that a browser loads at first. */
const maxMs = 150
const maxBytes = 200_000

/** Time of the server for each view of the dashboard over a lot of data, and the size of the first load. */
export async function dashboard({ env, folder, quick }) {
  const own = { ...env, PROSPECT_HOME: join(folder, 'dashboard-home') }
  await askJson([binary, 'init', '--json'], own)
  await askJson([binary, 'engine', 'credits', 'set', '100000000', '--json'], own)
  const sizes = quick ? { companies: 20_000, runs: 1_000, deliveries: 10_000 } : largeSizes
  await fillDashboard(folder, own, sizes)
  const server = await startServer(
    [binary, 'dashboard', '--port', '0', '--json', '--quiet', '--no-open'],
    own,
  )
  try {
    return await measure(new URL(JSON.parse(server.line).url), sizes, quick, own)
  } finally {
    await server.stop()
  }
}

async function measure(link, sizes, quick, env) {
  const { post, listen } = await signIn(link)
  const shell = await (await fetch(`${link.origin}/dashboard`)).text()
  const views = [...shell.matchAll(/<a href="\/dashboard\/?([a-z-]*)">([^<]+)<\/a>/g)]
  const assets = [...shell.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path)
  const loaded = [
    shell,
    ...(await Promise.all(assets.map(async (path) => (await fetch(link.origin + path)).text()))),
  ]
  const results = []
  for (const [, name, title] of views) {
    const times = []
    for (let round = 0; round < (quick ? 5 : 15); round++) {
      const began = performance.now()
      const text = await post(`/data/${name}`)
      times.push(performance.now() - began)
      if (name === '' && round === 0) loaded.push(text)
    }
    results.push({ title, ms: median(times) })
  }
  const amounts = Object.entries(sizes)
    .map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
    .join(', ')
  const bytes = loaded.reduce((sum, text) => sum + gzipSync(text).length, 0)
  return [
    ...results.map(({ title, ms }) => ({
      what: `Dashboard, *${title}*: time of the server over ${amounts}`,
      measured: `${ms.toFixed(0)} ms`,
      baseline: `limit: ${maxMs} ms`,
      ratio: ms / maxMs,
      atMost: 1,
    })),
    {
      what: 'Dashboard: first load, compressed',
      measured: `${(bytes / 1_000).toFixed(1)} kB`,
      baseline: `limit: ${maxBytes / 1_000} kB`,
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
    baseline: `limit: ${maxLateMs} ms`,
    ratio: longest / maxLateMs,
    atMost: 1,
  }
}

/** Signs in with a link as the page does. Returns what sends its requests, and what listens for changes. */
export async function signIn({ origin, hash }) {
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
