import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import { secondsToWait } from '../../src/cli/operation/call.js'
import {
  answering,
  canary,
  command,
  errorOf,
  folder,
  type Given,
  keyed,
  removed,
} from '../support/command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

const ask = (
  reply: Partial<Reply> | readonly Partial<Reply>[],
  given: Given = {},
  argv = 'accounts enrich --domain x',
) => command(argv.split(' '), { env: keyed(home), caller: answering(...[reply].flat()), ...given })

/** Status and body of an answer, and the exit code it ends a command with. */
const refusals: readonly (readonly [number, Record<string, unknown>, number])[] = [
  [400, { error: 'Missing required keys: name' }, 7],
  [400, { error: 'Company not found' }, 9],
  [401, { error: 'Invalid API key' }, 3],
  [402, { error: 'Insufficient credits: need 1 credits, have 0', code: 'insufficient_credits' }, 4],
  [403, { error: 'Workspace weekly credit limit exceeded', code: 'workspace_limit_exceeded' }, 5],
  [403, { error: 'This API key has no access to this endpoint' }, 3],
  [404, { error: 'No company found' }, 9],
  [409, { error: 'reused', code: 'idempotency_key_reused' }, 7],
  [422, { error: "Can't proceed with the request. Plan limit reached." }, 6],
  [422, { error: 'country must be an ISO 3166-1 alpha-2 code' }, 7],
  [422, { error: 422, message: 'limit must be a whole number' }, 7],
  [429, { error: 'Rate limit exceeded. Please wait before retrying.' }, 8],
  [500, { error: 'Internal server error' }, 10],
  [501, { error: 'Not implemented' }, 10],
  [503, { error: 'The database is busy' }, 10],
]

describe('a refusal', () => {
  it.each(refusals)('%i %j ends with exit %i', async (status, body, exit) => {
    const ended = await ask({ status, body })
    expect([ended.code, errorOf(ended).exit_code, errorOf(ended).status]).toEqual([exit, exit, status])
  })

  it('has its body on stdout and its meaning on stderr when the output is JSON', async () => {
    const body = {
      error: 'Insufficient credits: need 1 credits, have 0',
      code: 'insufficient_credits',
      top_up_url: 'x',
    }
    const ended = await ask({ status: 402, body })
    expect(JSON.parse(ended.stdout)).toEqual(body)
    expect(errorOf(ended)).toMatchObject({
      error: body.error,
      code: 'insufficient_credits',
      status: 402,
      exit_code: 4,
    })
    expect(errorOf(ended).hint).toContain('Buy credits')
  })

  it('has its whole body on stdout, whatever --fields names', async () => {
    const ended = await ask(
      { status: 404, body: { error: 'No company found' } },
      {},
      'accounts enrich --domain x --fields name',
    )
    expect(JSON.parse(ended.stdout)).toEqual({ error: 'No company found' })
  })

  it.each(['credits', 'api GET /credits'])('never repeats the key on stdout: %s', async (argv) => {
    const ended = await ask({ status: 400, body: { error: `no such key ${canary}` } }, {}, argv)
    expect(JSON.parse(ended.stdout)).toEqual({ error: 'no such key [key]' })
  })

  it('is one line for a person, and stdout stays empty', async () => {
    const ended = await ask({ status: 404, body: { error: 'No company found' } }, { terminal: true })
    expect(ended.stdout).toBe('')
    expect(ended.stderr).toMatch(/^No company found\. Nothing was charged\. .*\n$/)
  })

  it('is one line when the output is CSV', async () => {
    const ended = await ask(
      { status: 401, body: { error: 'Invalid API key' } },
      {},
      'lists list --format csv',
    )
    expect([ended.code, ended.stdout, ended.stderr.split('\n').length]).toEqual([3, '', 2])
  })

  it('shows what a terminal would obey in the words of a server', async () => {
    const ended = await ask({ status: 400, body: { error: 'bad\u001b[2J\nthing' } }, { terminal: true })
    expect(ended.stderr).toContain('bad\\u001b[2J thing')
  })
})

describe('a rate limit', () => {
  const limited = (seconds: string): Partial<Reply> => ({
    status: 429,
    body: { error: 'Rate limit exceeded. Please wait before retrying.' },
    headers: { 'retry-after': seconds },
  })
  const sleeper = () => {
    const slept: number[] = []
    return { slept, sleep: async (ms: number) => void slept.push(ms) }
  }

  it('is waited for, with one line on stderr', async () => {
    const { slept, sleep } = sleeper()
    const ended = await ask([limited('3'), { body: { id: 'x' } }], { sleep })
    expect([ended.code, slept, ended.stderr]).toEqual([0, [3000], 'Rate limited: waiting 3 s.\n'])
  })

  it('is not waited for beyond 10 s in all, unless --max-wait says so', async () => {
    const { slept, sleep } = sleeper()
    const replies = [limited('6'), limited('6'), { body: { id: 'x' } }]
    const short = await ask(replies, { sleep })
    expect([short.code, slept]).toEqual([8, [6000]])
    const long = await ask(replies, { sleep }, 'accounts enrich --domain x --max-wait 12')
    expect([long.code, slept]).toEqual([0, [6000, 6000, 6000]])
  })

  it('is told at once with --max-wait 0, and without a time to wait', async () => {
    const { slept, sleep } = sleeper()
    const none = await ask({ ...limited('1'), headers: {} }, { sleep })
    const zero = await ask(limited('1'), { sleep }, 'accounts enrich --domain x --max-wait 0')
    expect([none.code, zero.code, slept]).toEqual([8, 8, []])
  })

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

describe('an unexpected error', () => {
  const failing: Given['caller'] = {
    call: async () => {
      throw new Error(`it broke with ${canary}`)
    },
    close: async () => {},
  }

  it('is one sentence with how to report it, and exit 1', async () => {
    const ended = await ask({}, { caller: failing })
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatchObject({ code: 'bug', exit_code: 1 })
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(ended.stderr).not.toContain('    at ')
  })

  it('shows where it happened with --verbose, without the key', async () => {
    const ended = await ask({}, { caller: failing }, 'credits --verbose')
    expect(ended.stderr).toContain('    at ')
    expect(ended.stderr).not.toContain(canary)
  })

  it.each(['0.0001', '1.0005', '99999999'])('is none for want of a round --timeout: %s', async (seconds) => {
    expect((await ask({ body: {} }, {}, `account --timeout ${seconds}`)).code).toBe(0)
  })

  it('is a timeout when the call was given up', async () => {
    const caller: Given['caller'] = {
      call: async (_, __, options) => {
        await new Promise((resolve) => options?.signal?.addEventListener('abort', resolve))
        throw options?.signal?.reason
      },
      close: async () => {},
    }
    const ended = await ask({}, { caller }, 'credits --timeout 0.01')
    expect([ended.code, errorOf(ended).code]).toEqual([10, 'timeout'])
  })
})
