import { readdirSync, readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { canary, machine } from '../../../support/command.js'
import { enrich, proxyOf, type ServingMachine } from '../../call/serving.js'

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

const once = (one: ServingMachine) => enrich(one, 'x.example', { 'idempotency-key': 'mine' })

describe('a governed proxy of a misbehaving server', () => {
  it.each<readonly [string, RequestListener]>([
    ['no JSON', (_, response) => response.end('<html>')],
    ['a 404 that is a list', (_, response) => response.writeHead(404).end('[]')],
    ['half a record', (_, response) => response.end('{"name":"X","dom')],
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
    const { status, json } = await once(one)
    const said = { error: expect.stringMatching(/^Upstream answered /), code: 'unusable_answer' }
    expect([status, json()]).toEqual([502, said])
    expect(await one.machine.json('ledger')).toEqual([])
    isBad = false
    const good = await once(one)
    expect([good.status, good.json()]).toMatchObject([200, { domain: 'x.example' }])
    expect(await one.machine.json('ledger')).toMatchObject([{ credits: 1 }])
  })

  it('masks its key in responses and files when the server repeats it', async () => {
    for (const status of [200, 400, 401, 500]) {
      const one = await proxied((request, response) => {
        const key = String(request.headers['x-api-key'])
        const body = { error: `no ${key}`, name: key, domain: 'x.example', [key]: 1 }
        response.writeHead(status, { 'x-key': key, 'retry-after': '0' }).end(JSON.stringify(body))
      })
      const { text, headers } = await once(one)
      const shown = text + JSON.stringify([...headers])
      expect(shown).toContain('[key]')
      expect(shown).not.toContain(canary)
      const files = readdirSync(one.machine.home, { recursive: true, withFileTypes: true })
      for (const { parentPath, name } of files.filter((file) => file.isFile()))
        expect(readFileSync(join(parentPath, name), 'latin1'), name).not.toContain(canary)
    }
  })

  it.each([404, 200])(
    'ends the batch of a member after a few pages with %i, as without a proxy',
    async (status) => {
      const asked = new Set<string>()
      const one = await proxied(async (request, response) => {
        const { body } = await received(request)
        if (request.method !== 'POST') return void response.end('{"credits":1000}')
        asked.add(body)
        response.writeHead(status, { 'content-type': 'text/html' }).end('<html>no such page</html>')
      })
      const member = machine()
      closeAfterTest({ close: async () => member.remove() })
      const rows = Array.from({ length: 40 }, (_, at) => `c${at}.example\n`)
      member.write('in.csv', `domain\n${rows.join('')}`)
      const ended = await member.run('accounts enrich --csv in.csv -o out.csv --yes', { env: one.env })
      expect([ended.code, ended.stderr]).toEqual([
        10,
        expect.stringMatching(/^Upstream answered with .* rows are left/m),
      ])
      expect(asked.size).toBeLessThan(12)
      expect(await one.machine.json('ledger')).toEqual([])
    },
  )
})
