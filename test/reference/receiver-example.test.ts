import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EventName, eventNames } from '../../src/api/webhooks/events.js'
import { newSecret } from '../../src/api/webhooks/signature.js'
import { createSender } from '../../src/client/sender.js'
import { eventExamples } from '../../src/reference/openapi.js'

const root = join(import.meta.dirname, '..', '..')
const secret = newSecret(new Uint8Array(32).fill(7))
const sender = createSender()
let folder: string
let receiver: ChildProcess
let url: string
let printed = ''

/** The receiver of the document, as somebody would paste it. */
function pasted(): string {
  const code = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/receive-webhooks.md'), 'utf8'))?.[1]
  if (code === undefined) throw new Error('docs/receive-webhooks.md has no receiver')
  return code.replace("'standardwebhooks'", JSON.stringify(import.meta.resolve('standardwebhooks')))
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prospect-receiver-'))
  const [file, port] = [join(folder, 'receiver.mjs'), await freePort()]
  writeFileSync(file, pasted())
  url = `http://127.0.0.1:${port}/`
  const env = { ...process.env, PORT: String(port), PROSPECT_WEBHOOK_SECRET: secret }
  receiver = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  receiver.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  // It listens as soon as it answers, whatever it answers.
  while ((await send('lead_search.completed', [newSecret(new Uint8Array(32))])).status === null)
    await new Promise((resolve) => setTimeout(resolve, 20))
})
afterAll(async () => {
  receiver.kill()
  await sender.close()
  rmSync(folder, { recursive: true })
})

const send = (name: EventName, secrets: readonly string[]) =>
  sender.send({
    url,
    id: `msg_${name}`,
    timestamp: Date.now(),
    body: JSON.stringify(eventExamples[name]),
    secrets,
    allow: [],
    loopback: true,
  })

describe('the receiver of docs/receive-webhooks.md, with the official package', () => {
  it.each(eventNames())('verifies %s', async (name) => {
    expect(await send(name, [secret])).toMatchObject({ status: 200, error: null })
    await expect.poll(() => printed).toContain(`${name} `)
  })

  it('accepts either secret of a rotation, and refuses another', async () => {
    const other = newSecret(new Uint8Array(32).fill(9))
    expect((await send('lead_search.completed', [other, secret])).status).toBe(200)
    expect((await send('lead_search.completed', [other])).status).toBe(401)
  })
})
