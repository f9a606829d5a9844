import { readdirSync, readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest } from '../../../client/listeners.js'
import { canary } from '../../../support/command.js'
import { proxyOf, type ServingMachine } from '../../call/serving.js'

/** A governed proxy of a server with the given answer. Its own key is the canary. */
async function proxied(answer: RequestListener): Promise<ServingMachine> {
  const server = closeAfterTest(
    await answering((request, response) => {
      if (request.url === '/health') response.end('{"idempotency":"Idempotency-Key"}')
      else answer(request, response)
    }),
  )
  return proxyOf({ baseUrl: `${server.origin}/api/v2`, key: canary })
}

const enrich = async ({ baseUrl, key }: ServingMachine, idempotencyKey = 'mine') => {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, 'idempotency-key': idempotencyKey }
  const body = '{"domain":"x.example"}'
  const response = await fetch(`${baseUrl}/accounts/single_enrich`, { method: 'POST', headers, body })
  const all = JSON.stringify([...response.headers])
  return { status: response.status, text: await response.text(), headers: all }
}

describe('a governed proxy of a misbehaving server', () => {
  it.each<readonly [string, RequestListener]>([
    ['no JSON', (_, response) => response.end('<html>')],
    ['a list', (_, response) => response.end('[]')],
    ['half a record', (_, response) => response.end('{"name":"X","dom')],
    ['a compressed body', (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')],
    ['JSON nested too deep', (_, response) => response.end('['.repeat(65) + ']'.repeat(65))],
    [
      'a redirect',
      (request, response) => response.writeHead(307, { location: `http://127.0.0.1:1${request.url}` }).end(),
    ],
  ])('answers 502 for %s, charges nothing, and the retry succeeds', async (_, bad) => {
    let isBad = true
    const one = await proxied((request, response) => {
      if (isBad) bad(request, response)
      else response.end('{"name":"X","domain":"x.example"}')
    })
    const refused = await enrich(one)
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      502,
      { error: expect.stringMatching(/^Upstream answered /) },
    ])
    expect(await one.machine.json('ledger')).toEqual([])
    isBad = false
    const good = await enrich(one)
    expect([good.status, JSON.parse(good.text)]).toMatchObject([200, { domain: 'x.example' }])
    expect(await one.machine.json('ledger')).toMatchObject([{ credits: 1 }])
  })

  it('masks its key in responses and files when the server repeats it', async () => {
    for (const status of [200, 400, 401, 500]) {
      const one = await proxied((request, response) => {
        const key = String(request.headers['x-api-key'])
        const body = { error: `no ${key}`, name: key, domain: 'x.example', [key]: 1 }
        response.writeHead(status, { 'x-key': key, 'retry-after': '0' }).end(JSON.stringify(body))
      })
      const { text, headers } = await enrich(one)
      expect(text + headers).toContain('[key]')
      expect(text + headers).not.toContain(canary)
      const files = readdirSync(one.machine.home, { recursive: true, withFileTypes: true })
      for (const { parentPath, name } of files.filter((file) => file.isFile()))
        expect(readFileSync(join(parentPath, name), 'latin1'), name).not.toContain(canary)
    }
  })
})
