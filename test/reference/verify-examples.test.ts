import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type EventName, eventNames } from '../../src/api/webhooks/events.js'
import { newSecret } from '../../src/api/webhooks/signature.js'
import { createSender } from '../../src/client/sender.js'
import { eventExamples } from '../../src/reference/openapi.js'
import { answering, freePort, type Listener } from '../client/listeners.js'
import { sample } from '../support/effort.js'
import { makeFolder } from '../support/new-folder.js'

/** A delivery as it arrived. */
interface Arrived {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const doc = readFileSync(join(import.meta.dirname, '..', '..', 'docs/receive-webhooks.md'), 'utf8')
const secret = newSecret(new Uint8Array(32).fill(7))
const sender = createSender()
let folder: string
let server: Listener
let arrive: (arrived: Arrived) => void

beforeAll(async () => {
  folder = makeFolder()
  server = await answering(async (request, response) => {
    arrive({ headers: request.headers as Arrived['headers'], body: Buffer.concat(await request.toArray()) })
    // The shell blocks this process for seconds: a connection that is kept would be closed under the next delivery.
    response.writeHead(204, { connection: 'close' }).end()
  })
})
afterAll(async () => {
  await sender.close()
  await server.close()
  rmSync(folder, { recursive: true })
})

/** The code of the document in a language, as somebody would paste it. */
function pasted(language: string, holding: string): string {
  const codes = [...doc.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))]
  const code = codes.map(([, text = '']) => text).find((text) => text.includes(holding))
  if (code === undefined) throw new Error(`docs/receive-webhooks.md has no ${language} with ${holding}`)
  return code
}

/** What arrives when an event is delivered. */
async function delivered(name: EventName, secrets: readonly string[] = [secret], timestamp = Date.now()) {
  const arrived = new Promise<Arrived>((resolve) => {
    arrive = resolve
  })
  const body = JSON.stringify(eventExamples[name])
  const attempt = { url: `${server.origin}/`, id: `msg_${name}`, timestamp, body, secrets }
  expect(await sender.send({ ...attempt, allow: [], loopback: true })).toMatchObject({ status: 204 })
  return arrived
}

/** Says of each delivery whether it is genuine. */
type Verify = (arrived: readonly Arrived[]) => Promise<readonly boolean[]>

const signatureOf = ({ headers }: Arrived) => ({
  'webhook-id': headers['webhook-id'] ?? '',
  'webhook-timestamp': headers['webhook-timestamp'] ?? '',
  'webhook-signature': headers['webhook-signature'] ?? '',
})

const typeScript: Verify = async (arrived) => {
  const file = join(folder, 'verify.mjs')
  writeFileSync(file, transformSync(pasted('ts', 'function verify'), { loader: 'ts' }).code)
  const { verify } = await import(/* @vite-ignore */ pathToFileURL(file).href)
  return arrived.map((one) => verify(signatureOf(one), one.body, secret))
}

const python: Verify = async (arrived) => {
  const main = `${pasted('python', 'def verify')}
import json, sys
for one in json.load(sys.stdin):
    print(verify(one["headers"], base64.b64decode(one["body"]), sys.argv[1]))`
  const input = JSON.stringify(
    arrived.map((one) => ({ headers: signatureOf(one), body: one.body.toString('base64') })),
  )
  const printed = execFileSync('python3', ['-c', main, secret], { input, encoding: 'utf8' })
  return printed
    .trim()
    .split('\n')
    .map((line) => line === 'True')
}

const shell: Verify = async (arrived) =>
  arrived.map((one) => {
    writeFileSync(join(folder, 'body.json'), one.body)
    const signed = signatureOf(one)
    const env = {
      ...process.env,
      SECRET: secret,
      ID: signed['webhook-id'],
      TIMESTAMP: signed['webhook-timestamp'],
      SIGNATURE: signed['webhook-signature'],
    }
    const script = pasted('sh', 'openssl')
    return execFileSync('sh', ['-c', script], { cwd: folder, env, encoding: 'utf8' }).trim() === 'valid'
  })

/** The receiver, with the official package. */
const receiver: Verify = async (arrived) => {
  const file = join(folder, 'receiver.mjs')
  const official = JSON.stringify(import.meta.resolve('standardwebhooks'))
  writeFileSync(file, pasted('js', 'createServer').replace("'standardwebhooks'", official))
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), PROSPECT_WEBHOOK_SECRET: secret }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void child.kill())
  const ask = (one: Arrived) =>
    fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers: signatureOf(one), body: one.body })
  // It listens as soon as it answers, whatever it answers.
  await expect
    .poll(() => arrived[0] && ask(arrived[0]).catch(() => undefined), { timeout: 20_000 })
    .toBeDefined()
  const replies = await Promise.all(arrived.map(ask))
  return replies.map(({ status }) => status === 200)
}

/** Whether this machine has a program. */
function has(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe.each([
  ['TypeScript', typeScript, true],
  ['Python', python, has('python3', '--version')],
  ['the shell', shell, has('openssl', 'version')],
  ['a receiver with the official package', receiver, true],
] as const)('the check of docs/receive-webhooks.md in %s', (_, verify, isThere) => {
  const other = newSecret(new Uint8Array(32).fill(9))

  it.runIf(isThere)('verifies every event, and either secret of a rotation', async () => {
    const arrived = [await delivered('lead_search.completed', [other, secret])]
    for (const name of sample(eventNames(), 4)) arrived.push(await delivered(name))
    expect(await verify(arrived)).toEqual(arrived.map(() => true))
  })

  it.runIf(isThere)(
    'refuses another secret, another body, another time and what is no signature',
    async () => {
      const one = await delivered('list_import.failed')
      const arrived = [
        await delivered('list_import.failed', [other]),
        { ...one, body: Buffer.concat([one.body, Buffer.from(' ')]) },
        await delivered('list_import.failed', [secret], Date.now() - 330_000),
        await delivered('list_import.failed', [secret], Date.now() + 330_000),
        { ...one, headers: { ...one.headers, 'webhook-signature': `v1,${'é'.repeat(44)}` } },
      ]
      expect(await verify(arrived)).toEqual(arrived.map(() => false))
    },
  )
})
