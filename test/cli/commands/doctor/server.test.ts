import { describe, expect, it } from 'vitest'
import { ConnectionLost, type Reply } from '../../../../src/api/calls/caller.js'
import { exitCodes } from '../../../../src/api/calls/exit-codes.js'
import type { CheckedServer, ServerAnswer } from '../../../../src/cli/commands/doctor/context.js'
import { Stop } from '../../../../src/cli/context/errors.js'
import { perTest } from '../../../support/each.js'
import { type Given, place } from './place.js'

const here = perTest(place)

const now = Date.parse('2026-03-10T12:00:00Z')
const baseUrl = 'https://api.example.com/api/v2'
const healthy: ServerAnswer = {
  status: 200,
  headers: { date: 'Tue, 10 Mar 2026 12:00:03 GMT' },
  text: '{"status":"ok","idempotency":"Idempotency-Key"}',
}
const replyOf = (status: number, body: unknown): Reply => ({ status, body, headers: {}, credits: 0 })
const credits = replyOf(200, { credits: { enrichment: 1_234 } })
const account = (sessions: object) => replyOf(200, { integrations: sessions })

/** A server with the given answers. An error among them is thrown. */
const serving = (
  {
    health = healthy,
    answers = [credits],
  }: { health?: ServerAnswer | Error; answers?: readonly (Reply | Error)[] },
  asked: string[] = [],
): Given => {
  const server: CheckedServer = {
    health: async () => {
      asked.push('health')
      if (health instanceof Error) throw health
      return health
    },
    call: async (id) => {
      const answer = answers[asked.push(id) - 2] ?? replyOf(404, { error: 'Not found' })
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return { options: { baseUrl }, clock: { now: () => now }, server: () => server }
}

const lines = (given: Given) => here.lines('server', given)

describe('doctor: server', () => {
  it('skips the server checks for the local engine', async () => {
    expect(await here.look('server')).toEqual([])
  })

  it('reports that the server is reached and accepts the key', async () => {
    const asked: string[] = []
    expect(await lines(serving({}, asked))).toEqual([
      'ok | https://api.example.com is reached. | ',
      expect.stringMatching(
        /^ok \| The server accepts the key; 1,234 credits are left\. Answers come from \S+/,
      ),
    ])
    expect(asked).toEqual(['health', 'credits.show', 'account.show'])
  })

  it('sends nothing more to a server that is not reached', async () => {
    const asked: string[] = []
    const error = new Error('The certificate of api.example.com has expired')
    expect(await lines(serving({ health: error }, asked))).toEqual([
      expect.stringMatching(
        /^problem \| https:\/\/api\.example\.com cannot be reached: The certificate .* has expired\. \| Check/,
      ),
    ])
    expect(asked).toEqual(['health'])
  })

  it('explains what unknown idempotency support means', async () => {
    const [line] = await lines(serving({ health: { ...healthy, status: 404, text: '<html>' } }))
    expect(line).toMatch(/^ok .* is unknown.* \| .*prospect config set idempotency/)
  })

  it.each([
    [502, /^warning .*reports an error \(502\)/],
    [302, /^warning .*redirect, which is not followed/],
  ])('warns when /health answers %i', async (status, text) => {
    expect((await lines(serving({ health: { ...healthy, status } })))[0]).toMatch(text)
  })

  it.each(['Tue, 10 Mar 2026 12:06:00 GMT', 'Tue, 10 Mar 2026 11:54:00 GMT'])(
    "warns about a clock that differs from the server's: %s",
    async (date) => {
      expect(await lines(serving({ health: { ...healthy, headers: { date } } }))).toContainEqual(
        expect.stringMatching(/^warning \| The clocks .* differ by 6 minutes/),
      )
    },
  )

  it('prints why the server refuses the key', async () => {
    const refused = replyOf(401, { error: 'Invalid API key' })
    expect(await lines(serving({ answers: [refused] }))).toContainEqual(
      expect.stringMatching(
        /^problem \| GET \/credits is refused with 401: Invalid API key\. \| Give a valid key/,
      ),
    )
  })

  it('reports a missing key and a lost connection', async () => {
    const none = new Stop(
      'There is no API key for https://api.example.com.',
      exitCodes.key,
      'Store one: prospect login',
    )
    expect(await lines(serving({ answers: [none] }))).toContainEqual(
      'problem | There is no API key for https://api.example.com. | Store one: prospect login',
    )
    const lost = new ConnectionLost('api.example.com did not answer in time', false)
    expect(await lines(serving({ answers: [lost] }))).toContainEqual(
      expect.stringMatching(/^problem \| api\.example\.com did not answer in time\./),
    )
  })

  it('warns about invalid sessions of the server', async () => {
    const sessions = account({ network_session_valid: false, premium_session_valid: true })
    expect(await lines(serving({ answers: [credits, sessions] }))).toEqual([
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^warning \| The network session .* \| Renew it where the server is managed/),
    ])
  })
})
