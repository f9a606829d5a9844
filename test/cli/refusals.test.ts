import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import { secondsToWait } from '../../src/cli/call/send.js'
import { sleeper } from '../client/serving.js'
import { answering, canary, command, ends, errorOf, type Given, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'

const here = perTest(machine)

/** A clock that begins in 2026, and that each sleep moves on. */
function sleepingClock() {
  const { slept, sleep } = sleeper()
  const start = Date.parse('2026-01-01T00:00:00Z')
  let now = start
  const given = {
    clock: { now: () => now },
    sleep: async (ms: number) => {
      now += ms
      await sleep(ms)
    },
  }
  const restart = () => {
    now = start
  }
  return { slept, given, restart }
}

const ask = (
  reply: Partial<Reply> | readonly Partial<Reply>[],
  given: Given = {},
  argv = 'accounts enrich --domain x.example',
) => here.run(argv, { caller: answering(...[reply].flat()), ...given })

describe('a command that reads, looks up or spends, where there is no workspace', () => {
  const reading = casesOf<string>('cli/refusals/nothing-set-up')

  it.each(reading)('exits with 2 and creates nothing: %s', async (words) => {
    const missing = here.path('mistyped')
    await ends(
      command(words, { env: { PROSPECT_HOME: missing } }),
      2,
      `prospect is not set up in ${missing}.`,
      'prospect init',
    )
    expect(existsSync(missing)).toBe(false)
  })

  it.each(['data sample', 'init --yes', 'engine credits add 1'])(
    'has something to read after %s',
    async (words) => {
      await here.run(words)
      expect((await here.run('credits')).code).toBe(0)
    },
  )

  it('needs no workspace for a server', async () => {
    const env = { PROSPECT_API_KEY: canary, PROSPECT_BASE_URL: 'http://127.0.0.1:1/api/v2' }
    expect((await here.run('credits --timeout 5', { env })).code).toBe(10)
    expect((await here.run('runs list', { env })).code).toBe(0)
  })
})

/** Status and body of a reply, and the exit code of the command. */
const refusals = casesOf<readonly [number, Record<string, unknown>, number]>('cli/refusals/refusals')

describe('a refusal of the API', () => {
  it.each(refusals)('maps the response %i %j to exit code %i', async (status, body, exit) => {
    const ended = await ask({ status, body }, {}, 'accounts enrich --domain x.example --json')
    expect([ended.code, errorOf(ended).exit_code, errorOf(ended).status]).toEqual([exit, exit, status])
  })

  it('prints the body of a refusal on stdout and its meaning on stderr when the output is JSON', async () => {
    const body = {
      error: 'Insufficient credits: need 1 credits, have 0',
      code: 'insufficient_credits',
      top_up_url: 'x',
    }
    const ended = await ask({ status: 402, body }, {}, 'accounts enrich --domain x.example --json')
    expect(JSON.parse(ended.stdout)).toEqual(body)
    expect(errorOf(ended)).toMatchObject({
      error: body.error,
      code: 'insufficient_credits',
      status: 402,
      exit_code: 4,
    })
    expect(errorOf(ended).hint).toContain('prospect engine credits add N')
  })

  it('prints the whole body of a refusal on stdout, whatever --fields selects', async () => {
    const ended = await ask(
      { status: 404, body: { error: 'No company found' } },
      {},
      'accounts enrich --domain x.example --fields name',
    )
    expect(JSON.parse(ended.stdout)).toEqual({ error: 'No company found' })
  })

  it.each(['credits', 'api GET /credits'])('masks the key in the body of a refusal: %s', async (argv) => {
    const ended = await ask({ status: 400, body: { error: `no such key ${canary}` } }, {}, argv)
    expect(JSON.parse(ended.stdout)).toEqual({ error: 'no such key [key]' })
  })

  it('prints a refusal in one line on a wide terminal, and nothing on stdout', async () => {
    const ended = await ask(
      { status: 404, body: { error: 'No company found' } },
      { terminal: true, columns: 120 },
    )
    expect(ended.stdout).toBe('')
    expect(ended.stderr).toMatch(/^No company found\. Nothing was charged\. .*\n$/)
  })

  it('wraps a refusal between words on a terminal', async () => {
    const ended = await ask({ status: 404, body: { error: 'No company found' } }, { terminal: true })
    expect(ended.stderr).toMatch(/^No company found\.\nNothing was charged\. .*\n/)
    for (const line of ended.stderr.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('prints a refusal in one line when the output is CSV', async () => {
    const ended = await ask(
      { status: 401, body: { error: 'Invalid API key' } },
      {},
      'lists list --format csv',
    )
    expect([ended.code, ended.stdout, ended.stderr.split('\n').length]).toEqual([3, '', 2])
  })
})

describe('a rate limit', () => {
  const limited = (seconds: string): Partial<Reply> => ({
    status: 429,
    body: { error: 'Rate limit exceeded. Please wait before retrying.' },
    headers: { 'retry-after': seconds },
  })
  it('waits for a rate limit and says so in one line on stderr', async () => {
    const { slept, sleep } = sleeper()
    const ended = await ask([limited('3'), { body: { id: 'x' } }], { sleep })
    expect([ended.code, slept, ended.stderr]).toEqual([0, [3000], 'Rate limited: waiting 3 s.\n'])
  })

  it('waits at most 10 s in all for rate limits, or as long as --max-wait allows', async () => {
    const { slept, sleep } = sleeper()
    const replies = [limited('6'), limited('6'), { body: { id: 'x' } }]
    const short = await ask(replies, { sleep })
    expect([short.code, slept]).toEqual([8, [6000]])
    const long = await ask(replies, { sleep }, 'accounts enrich --domain x.example --max-wait 12')
    expect([long.code, slept]).toEqual([0, [6000, 6000, 6000]])
  })

  it('does not wait for a rate limit with --max-wait 0 or without Retry-After', async () => {
    const { slept, sleep } = sleeper()
    const none = await ask({ ...limited('1'), headers: {} }, { sleep })
    const zero = await ask(limited('1'), { sleep }, 'accounts enrich --domain x.example --max-wait 0')
    expect([none.code, zero.code, slept]).toEqual([8, 8, []])
  })

  it('says when to try again', async () => {
    const argv = 'accounts enrich --domain x.example --max-wait 0'
    const shown = await ask(limited('42'), { terminal: true }, argv)
    expect(shown.stderr).toBe('Rate limit reached. Try again in 42 s, or raise --max-wait.\n')
    expect(errorOf(await ask(limited('42'), {}, `${argv} --json`)).hint).toBe(
      'Try again in 42 s, or raise --max-wait.',
    )
  })

  it.each<[string, Record<string, string>, number]>([
    ['as seconds', { 'ratelimit-reset': '7' }, 7],
    ['as seconds with parameters', { 'ratelimit-reset': '7;w=60' }, 7],
    ['as seconds since 1970', { 'ratelimit-reset': '1767225607' }, 7],
    ['as milliseconds since 1970', { 'x-ratelimit-reset': '1767225607000' }, 7],
    [
      'as seconds since 1970 of another clock',
      { 'x-ratelimit-reset': '1767229207', date: 'Thu, 01 Jan 2026 01:00:00 GMT' },
      7,
    ],
    ['as seconds of two windows', { 'ratelimit-reset': '1, 7' }, 7],
    ['as a duration', { 'x-ratelimit-reset': '0m7s' }, 7],
    ['with another hyphen', { 'x-rate-limit-reset': '1767225607' }, 7],
    ['as what is left', { 'x-ratelimit-reset-after': '7' }, 7],
    ['where one end is millennia away', { 'ratelimit-reset': '9'.repeat(20), 'x-ratelimit-reset': '7' }, 7],
    ['as a date', { 'ratelimit-reset': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7],
    ['as a dictionary', { ratelimit: 'limit=10, remaining=0, reset=7' }, 7],
    ['as a structured field', { ratelimit: '"minute";r=0;t=7' }, 7],
    ['of the window that is full', { ratelimit: '"day";r=50;t=5000, "minute";r=0;t=7' }, 7],
    ['behind Retry-After, which wins', { 'retry-after': '3', 'ratelimit-reset': '7' }, 3],
    ['where Retry-After cannot be read', { 'retry-after': 'soon', 'ratelimit-reset': '7' }, 7],
  ])('waits for the end of the window that the server names %s', async (_, headers, seconds) => {
    const { slept, given, restart } = sleepingClock()
    const replies = [{ ...limited('1'), headers }, { body: { id: 'x' } }]
    const ended = await ask(replies, given)
    expect([ended.code, slept]).toEqual([0, [seconds * 1_000]])
    here.write('in.csv', 'domain\na.example\n')
    restart()
    const batch = await ask(replies, given, 'accounts enrich --csv in.csv -o out.csv')
    expect([batch.code, slept.slice(1)]).toEqual([0, [seconds * 1_000]])
  })

  it.each([
    ['0', 100],
    ['99999999', 86_400_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400_000],
    ['Infinity', 1_000],
  ])('keeps a batch waiting for a moment at least and a day at most: Retry-After %s', async (text, ms) => {
    const { slept, given } = sleepingClock()
    here.write('in.csv', 'domain\na.example\n')
    const replies = [limited(text), { body: { id: 'x' } }]
    const batch = await ask(replies, given, 'accounts enrich --csv in.csv -o out.csv')
    expect([batch.code, slept]).toEqual([0, [ms]])
  })

  it.each(['99999999', '9999999999', 'Infinity', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'is not waited for by a single lookup when it ends in years: %s',
    async (text) => {
      const { slept, sleep } = sleeper()
      expect([(await ask(limited(text), { sleep })).code, slept]).toEqual([8, []])
    },
  )

  it.each([
    ['5', 5],
    ['0', 1],
    ['Thu, 01 Jan 1970 00:00:42 GMT', 40],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 1],
    ['soon', undefined],
    [undefined, undefined],
  ])('reads Retry-After %s at second 2 as %s', (value, seconds) => {
    const headers: Record<string, string> = value === undefined ? {} : { 'retry-after': value }
    expect(secondsToWait({ headers }, 2_000)).toBe(seconds)
  })
})

it.each(['0.0001', '1.0005', '99999999'])('accepts any positive --timeout: %s', async (seconds) => {
  expect((await ask({ body: {} }, {}, `account --timeout ${seconds}`)).code).toBe(0)
})

describe('a command that could mean more than it finds', () => {
  it('names the option for all searches where none has an email address', async () => {
    await here.fill('companies', 'domain\nknown.example\n')
    await ends(here.run('searches list'), 0, 'prospect searches list --no-enriched')
    expect((await here.run('searches list --no-enriched')).stderr).not.toContain('--no-enriched')
  })

  it('says that only a server takes filters of live results', async () => {
    await here.fill('people', 'name,network_url\nAnn Lee,https://www.network.example/in/ann\n')
    await ends(
      here.run('leads advanced-search --preview --relationship 1 --first-name Ann'),
      7,
      "Only a vendor's server can filter by relationship",
    )
  })
})
