import { createServer } from 'node:http'
import { createSender } from '../../src/client/sender.js'
import { attempt } from '../client/attempt.js'
import { nameServer } from '../support/name-server.js'

/**
 * Tries to reach whatever must not be reached, in a network namespace of its own where all of it is on loopback, with a
 * name server whose answers change. Prints what came of it as JSON. Arguments: public address, rounds of rebinding,
 * URLs that are refused, as JSON.
 */
const [publicAddress = '', rounds = '100', refused = '[]'] = process.argv.slice(2)
const port = 8_099
const inner = ['127.0.0.1', '::1', '10.1.2.3', '169.254.169.254', '100.64.0.1']
const nowhere = { allow: [] as string[], loopback: false }

/** How often each name was asked for. */
const asked = new Map<string, number>()

/** A name's address: `rebind…` is public at first and then this machine, `public…` is public, all others are internal. */
function addressOf(name: string): string {
  const times = (asked.get(name) ?? 0) + 1
  asked.set(name, times)
  if (name.startsWith('public')) return publicAddress
  if (name.startsWith('rebind')) return times === 1 ? publicAddress : '127.0.0.1'
  if (name.startsWith('back')) return times === 1 ? '10.1.2.3' : publicAddress
  return '127.0.0.1'
}

await nameServer((name, type) => (type === 'A' ? [addressOf(name)] : []), { port: 53 })

const connections = new Map<string, number>()
for (const host of [...inner, publicAddress]) {
  connections.set(host, 0)
  const server = createServer((request, response) => {
    const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to')
    if (to) response.writeHead(302, { location: to })
    else response.writeHead(204)
    response.end()
  })
  server.on('connection', () => connections.set(host, (connections.get(host) ?? 0) + 1))
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
}
const reachedInside = () => inner.reduce((sum, host) => sum + (connections.get(host) ?? 0), 0)

const sender = createSender({ keepAliveMs: 1 })
const tried: string[] = [
  ...(JSON.parse(refused) as string[]),
  ...inner.map(
    (host) => `http://public.example:${port}/?to=${encodeURIComponent(`http://${host}:${port}/`)}`,
  ),
]
for (const url of tried) {
  await sender.check(url, nowhere)
  await sender.send({ ...attempt(url), ...nowhere })
}
// Over http the public address has to be permitted; what it points to is not.
const only = { allow: [`${publicAddress}/32`], loopback: false }
for (const host of inner) {
  const url = `http://public.example:${port}/?to=${encodeURIComponent(`http://${host}:${port}/`)}`
  await sender.send({ ...attempt(url), ...only })
  tried.push(url)
}
let changed = 0
for (let round = 0; round < Number(rounds); round++) {
  const url = `https://${round % 2 === 0 ? 'rebind' : 'back'}-${round}.example:${port}/`
  // Where the check was the first to ask, the attempt meets the other answer; without it the connection would.
  if (round % 4 < 2) await sender.check(url, nowhere)
  await sender.send({ ...attempt(url), ...nowhere })
  await sender.send({ ...attempt(url), ...nowhere })
  changed++
}
const inside = reachedInside()
const permitted = await sender.send({
  ...attempt(`http://10.1.2.3:${port}/`),
  allow: ['10.1.2.0/24'],
  loopback: false,
})
const never = await sender.send({
  ...attempt(`http://169.254.169.254:${port}/`),
  allow: ['169.254.0.0/16'],
  loopback: true,
})
const reached = await sender.send({ ...attempt(`http://public.example:${port}/`), ...only })
process.stdout.write(
  `${JSON.stringify({
    urls: tried.length,
    changed,
    inside,
    queries: [...asked.values()].reduce((sum, one) => sum + one, 0),
    public: connections.get(publicAddress),
    statuses: [permitted.status, never.status, reached.status],
    said: [permitted.error, never.error, reached.error],
    link: connections.get('169.254.169.254'),
  })}\n`,
)
process.exit()
