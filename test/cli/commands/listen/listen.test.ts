import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { newSecret, sign } from '../../../../src/api/webhooks/signature.js'
import { answering, closeAfterTest } from '../../../client/listeners.js'
import { type CommandResult, ends, type Given, machine, practiceMachine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(practiceMachine)

interface Opening {
  readonly listening: string
  readonly url: string
  readonly verifying: boolean
  readonly secret: string | null
  readonly secret_from: string | null
}

const linesOf = ({ stdout }: Pick<CommandResult, 'stdout'>) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** A receiver on a free port in this process. */
async function listening(options: readonly string[] = [], given: Given = {}) {
  const { line, stop } = await here.start(['listen', '--port', '0', ...options], given)
  const opening = JSON.parse(line) as Opening
  const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(opening.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  return { opening, post, stop }
}

const secret = newSecret(randomBytes(32))

describe('listen', () => {
  it.each(['SIGINT', 'SIGTERM'])('prints its address, then each event, and exits 0 on %s', async (signal) => {
    const { opening, post, stop } = await listening()
    expect(opening).toEqual({
      listening: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/hooks\/[\w-]{22}$/),
      verifying: false,
      secret: (await here.json<{ secret: string }>('engine webhooks secret')).secret,
      secret_from: 'workspace',
    })
    await post('{"event":"list_import.completed","id":"l","list":{}}', { 'webhook-id': 'msg_1' })
    await post('{}', { 'webhook-id': 'msg_1' })
    const ended = await ends(stop(signal), 0)
    expect(linesOf(ended).slice(1)).toEqual([
      {
        id: 'msg_1',
        received_at: expect.any(String),
        event: 'list_import.completed',
        search_id: 'l',
        verified: false,
        body: { event: 'list_import.completed', id: 'l', list: {} },
      },
    ])
    expect(ended.stderr).toContain('accepted unverified')
  })

  it('prints a body of several lines in one, with its numbers', async () => {
    const { post, stop } = await listening()
    await post('\ufeff{\r\n\t"id": 9007199254740993,\n\t"a": "\\n"\n}\n', { 'webhook-id': 'msg_2' })
    const { stdout } = await stop()
    const line = stdout.split('\n')[1] ?? ''
    expect(JSON.parse(line)).toMatchObject({ id: 'msg_2', body: { a: '\n' } })
    expect(line).toContain('"id": 9007199254740993,')
  })

  it('prints the bare address and one escaped line per event with --format table', async () => {
    const { line: url, stop } = await here.start('listen --port 0 --format table')
    expect(url).toMatch(/^http:.*\/hooks\/[\w-]{22}$/)
    await fetch(url, {
      method: 'POST',
      body: '{"event":"a\\u001b[2Jb\\nc","id":"s"}',
      headers: { 'webhook-id': 'm' },
    })
    const { stdout } = await stop('SIGINT')
    expect(stdout.split('\n')[1]).toMatch(/^whsec_/)
    expect(stdout.split('\n')[2]).toMatch(/^\S+Z {2}a\\u001b\[2Jb c {2}s {2}not verified {2}m$/)
  })

  it('says on a terminal what its first lines are', async () => {
    const { line, stop } = await here.start('listen --port 0', { terminal: true })
    expect(line).toMatch(/^Webhook URL {5}http:.*\/hooks\/[\w-]{22}$/)
    expect((await stop()).stdout.split('\n')[1]).toMatch(/^Signing secret {2}whsec_/)
  })

  it('verifies deliveries of this workspace, also after rotating the secret, and stores the others too', async () => {
    const { opening, post, stop } = await listening()
    const send = (id: string, key: string) => post('{}', { ...sign(id, Date.now(), '{}', [key]) })
    await send('own', opening.secret ?? '')
    const { secret: fresh } = await here.json<{ secret: string }>('engine webhooks secret --rotate')
    await send('old', opening.secret ?? '')
    await send('fresh', fresh)
    expect((await send('foreign', secret)).status).toBe(200)
    const [, ...events] = linesOf(await stop())
    expect(events.map(({ id, verified }) => [id, verified])).toEqual([
      ['own', true],
      ['old', true],
      ['fresh', true],
      ['foreign', false],
    ])
  })

  it('prints no secret and creates no workspace when a server is the target', async () => {
    const bare = machine()
    closeAfterTest({ close: async () => bare.remove() })
    const { line, stop } = await bare.start('listen --port 0', {
      env: { PROSPECT_BASE_URL: 'https://api.example/api/v2' },
    })
    expect(JSON.parse(line)).toMatchObject({ verifying: false, secret: null, secret_from: null })
    expect((await stop()).stderr).toContain('no secret')
    expect(bare.exists('engine.db')).toBe(false)
  })

  it('uses the path in --path', async () => {
    const { opening, stop } = await listening(['--path', 'a-path-of-my-own-0'])
    expect(new URL(opening.url).pathname).toBe('/hooks/a-path-of-my-own-0')
    await stop()
  })

  it('prints the public URL and accepts its host', async () => {
    const { opening, stop } = await listening(['--public-url', 'https://tunnel.example/in/'])
    expect(opening.url).toMatch(/^https:\/\/tunnel\.example\/in\/hooks\/[\w-]{22}$/)
    const { port } = new URL(opening.listening)
    const { exchange, lines, statuses } = await import('../../../http/raw.js')
    const { pathname } = new URL(opening.url)
    const ask = (host: string) =>
      exchange(Number(port), lines(`POST ${pathname} HTTP/1.1`, [`Host: ${host}`, 'Content-Length: 2'], '{}'))
    expect(statuses(await ask('tunnel.example'))).toEqual([200])
    expect(statuses(await ask('evil.example'))).toEqual([403])
    await stop()
  })

  it.each<[string, string[], Given]>([
    ['a file', ['--secret-file', 'webhook.secret'], {}],
    ['a file, as a command prints it', ['--secret-file', 'printed.secret'], {}],
    ['the environment', [], { env: { PROSPECT_WEBHOOK_SECRET: secret } }],
    ['a file of two', ['--secret-file', 'two.secret'], {}],
  ])('accepts only deliveries signed with the secret of %s', async (_, options, given) => {
    here.write('webhook.secret', `${secret}\n`, 0o600)
    here.write('printed.secret', JSON.stringify({ secret }), 0o600)
    writeFileSync(here.path('two.secret'), `${newSecret(randomBytes(32))}\n${secret}\n`, {
      mode: 0o600,
    })
    const { opening, post, stop } = await listening(options, given)
    expect(opening).toMatchObject({ verifying: true, secret: null, secret_from: expect.any(String) })
    expect((await post('{}')).status).toBe(401)
    expect((await post('{}', { ...sign('msg_1', Date.now(), '{}', [secret]) })).status).toBe(200)
    const ended = await stop()
    expect(linesOf(ended)).toMatchObject([{}, { id: 'msg_1', verified: true }])
    expect(ended.stdout + ended.stderr).not.toContain(secret)
    expect(await here.json('events list')).toHaveLength(1)
  })

  it('forwards each event', async () => {
    const { origin } = closeAfterTest(await answering((_, response) => response.end()))
    const target = `${origin}/hooks`
    const { post, stop } = await listening(['--forward-to', target])
    await post('{}', { 'webhook-id': 'msg_1' })
    const forwards = async () => (await here.json<{ forwards: object[] }>('events show msg_1')).forwards
    await expect.poll(forwards).toMatchObject([{ target, state: 'delivered', attempts: 1, answer: '200' }])
    expect((await stop()).code).toBe(0)
  })
})
