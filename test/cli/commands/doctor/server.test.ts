import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest, freePort } from '../../../client/listeners.js'
import { canary } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { place } from './place.js'

const here = perTest(place)

const now = Date.parse('2026-03-10T12:00:00Z')

interface Answer {
  readonly status?: number
  readonly body?: object
  readonly date?: string
}

const healthy: Answer = { body: { idempotency: 'Idempotency-Key' } }
const credits: Answer = { body: { credits: { enrichment: 1_234 } } }

/** Returns the findings about a server with these answers, the requests to it, and its address; `drops`: a path without answer. */
async function examine(
  answers: Readonly<Record<string, Answer>>,
  env = { PROSPECT_API_KEY: canary },
  drops = '',
) {
  const asked: string[] = []
  const { port } = closeAfterTest(
    await answering((request, response) => {
      const path = request.url ?? ''
      asked.push(path)
      if (path === drops) return void response.destroy()
      const { status = 200, body = {}, date = 'Tue, 10 Mar 2026 12:00:03 GMT' } = answers[path] ?? {}
      response.writeHead(status, { date, 'content-type': 'application/json' }).end(JSON.stringify(body))
    }),
  )
  const origin = `http://127.0.0.1:${port}`
  const options = { baseUrl: `${origin}/api/v2` }
  const lines = await here.lines('server', { options, env, clock: { now: () => now } })
  return { origin, asked, lines }
}

describe('doctor: server', () => {
  it('skips the server checks for the local engine', async () => {
    expect(await here.look('server')).toEqual([])
  })

  it('reports that the server is reached and accepts the key', async () => {
    const { origin, asked, lines } = await examine({ '/health': healthy, '/api/v2/credits': credits })
    expect(lines).toEqual([
      `ok | ${origin} is reached. | `,
      expect.stringMatching(
        /^ok \| The server accepts the key; 1,234 credits are left\. Answers come from \S+/,
      ),
    ])
    expect(asked).toEqual(['/health', '/api/v2/credits', '/api/v2/account'])
  })

  it('sends nothing more to a server that is not reached', async () => {
    const options = { baseUrl: `http://127.0.0.1:${await freePort()}/api/v2` }
    await here.says(/^problem \| http:\/\/127\.0\.0\.1:\d+ cannot be reached: .* \| Check/, 'server', {
      options,
    })
  })

  it('explains what unknown idempotency support means', async () => {
    const { lines } = await examine({ '/health': { status: 404 } })
    expect(lines[0]).toMatch(/^ok .* is unknown.* \| .*prospect config set idempotency/)
  })

  it.each([
    [502, /^warning .*reports an error \(502\)/],
    [302, /^warning .*redirect, which is not followed/],
  ])('warns when /health answers %i', async (status, text) => {
    expect((await examine({ '/health': { status } })).lines[0]).toMatch(text)
  })

  it.each(['Tue, 10 Mar 2026 12:06:00 GMT', 'Tue, 10 Mar 2026 11:54:00 GMT'])(
    "warns about a clock that differs from the server's: %s",
    async (date) => {
      expect((await examine({ '/health': { ...healthy, date } })).lines).toContainEqual(
        expect.stringMatching(/^warning \| The clocks .* differ by 6 minutes/),
      )
    },
  )

  it('prints why the server refuses the key', async () => {
    const refused = { status: 401, body: { error: 'Invalid API key' } }
    expect((await examine({ '/api/v2/credits': refused })).lines).toContainEqual(
      expect.stringMatching(
        /^problem \| GET \/credits is refused with 401: Invalid API key\. \| Give a valid key/,
      ),
    )
  })

  it('reports a missing key and a lost connection', async () => {
    expect((await examine({}, { PROSPECT_API_KEY: '' })).lines).toContainEqual(
      expect.stringMatching(/^problem \| There is no API key for http.* \| .*prospect login/),
    )
    expect((await examine({}, undefined, '/api/v2/credits')).lines.at(-1)).toMatch(
      /^problem \| .*127\.0\.0\.1/,
    )
  })

  it('warns about invalid sessions of the server', async () => {
    const account = { body: { integrations: { network_session_valid: false, premium_session_valid: true } } }
    const { lines } = await examine({
      '/health': healthy,
      '/api/v2/credits': credits,
      '/api/v2/account': account,
    })
    expect(lines).toEqual([
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^warning \| The network session .* \| Renew it where the server is managed/),
    ])
  })
})
