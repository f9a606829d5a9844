import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { execa } from 'execa'
import { percentile } from '../soak/load.js'
import { nameServer } from '../support/name-server.js'
import { launchServer } from '../support/processes.js'

/**
 * Serves two workspaces in a network namespace whose name server never answers for `dead…`, and measures the requests
 * and deliveries of one, without and with dead names of the other. Prints milliseconds as JSON. Arguments: the command
 * `prospect` as a script, number of dead names, seconds of each measurement.
 */
const [prospect = '', dead = '100', seconds = '10'] = process.argv.slice(2)
const port = 8_099
const home = mkdtempSync(join(tmpdir(), 'prospect-names-'))
const env = { PROSPECT_HOME: home }
const cli = async (...args: string[]) =>
  JSON.parse((await execa(process.execPath, [prospect, ...args, '--json'], { env })).stdout)

const names = await nameServer((name) => (name.startsWith('dead') ? 'silence' : ['127.0.0.1']), { port: 53 })
const arrived = new Map<string, () => void>()
const hook = createServer((request, response) => {
  request.resume()
  response.writeHead(204).end()
  arrived.get(request.url ?? '')?.()
})
await new Promise<void>((resolve) => hook.listen(port, '127.0.0.1', resolve))

/** Prepares a workspace with plenty of everything, and returns a key. */
async function prepared(email: string): Promise<string> {
  await cli('engine', 'plan', 'set', 'scale')
  await cli('engine', 'credits', 'set', '1000000')
  await cli('engine', 'members', 'add', email)
  return (await cli('engine', 'keys', 'create', '--member', email)).key
}

await cli('init')
await cli('data', 'sample')
const bad = await prepared('bad@example.com')
await cli('engine', 'workspaces', 'create', 'Second')
await cli('engine', 'workspaces', 'use', 'Second')
const good = await prepared('good@example.com')
const argv = ['serve', '--port', '0', '--allow-target', '127.0.0.0/8']
const { line: baseUrl, stop } = await launchServer(prospect, argv, home, env)

const accept = (key: string, webhook_url: string) =>
  fetch(`${baseUrl}/intents/accounts/stack`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ webhook_url, stacks: ['react'], limit: 1 }),
  }).then(async (response) => ({ status: response.status, text: await response.text() }))

let count = 0
/** Asks again and again for some seconds, and measures each request and its delivery. */
async function measured() {
  const [requests, deliveries]: [number[], number[]] = [[], []]
  for (const until = performance.now() + 1_000 * Number(seconds); performance.now() < until; ) {
    const path = `/${++count}`
    const began = performance.now()
    const arrival = new Promise<void>((resolve) => arrived.set(path, resolve))
    const { status, text } = await accept(good, `http://hook.example:${port}${path}`)
    if (status !== 202) throw new Error(`${status} ${text}`)
    requests.push(performance.now() - began)
    await arrival
    deliveries.push(performance.now() - began)
  }
  const told = (values: readonly number[]) =>
    [0.5, 0.95, 1].map((share) => Math.round(percentile(values, share)))
  return { rounds: requests.length, requests: told(requests), deliveries: told(deliveries) }
}

try {
  await accept(good, `http://hook.example:${port}/first`)
  const without = await measured()
  const accepting = Array.from({ length: Number(dead) }, (_, at) =>
    accept(bad, `https://dead-${at}.example/`),
  )
  await pause(100)
  const during = await measured()
  const accepted = (await Promise.all(accepting)).filter(({ status }) => status === 202).length
  process.stdout.write(`${JSON.stringify({ without, during, accepted, asked: names.asked.length })}\n`)
} finally {
  await stop()
  rmSync(home, { recursive: true })
}
process.exit()
