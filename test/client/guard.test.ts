import { afterEach, describe, expect, it } from 'vitest'
import { createSender } from '../../src/client/sender.js'
import { perFile } from '../support/each.js'
import { attempt } from './attempt.js'
import { accepting, answering, answers, closeAfterTest } from './listeners.js'
import { internalHosts, linkLocalHosts, loopbackHosts, resolveKnown, unfitUrls } from './targets.js'

/** All networks, as `--allow-target` takes them. */
const everything = ['0.0.0.0/0', '::/0']

const four = perFile(() => accepting())
const six = perFile(() => accepting(undefined, '::1', four.port))
// Whatever address a name has, this sender connects to the listeners.
const watched = perFile(() =>
  createSender({ resolve: resolveKnown, chooseAddresses: () => ['127.0.0.1', '::1'] }),
)
const plain = perFile(() => createSender({ resolve: resolveKnown }))
// Nothing ever reaches them.
afterEach(() => expect(four.connections() + six.connections()).toBe(0))

const urlsOf = (hosts: readonly string[]) =>
  hosts.flatMap((host) => ['http', 'https'].map((scheme) => `${scheme}://${host}:${four.port}/hook`))

/** Checks URLs at creation and with an attempt. Returns those that one of the two lets through. */
async function passing(urls: readonly string[], targets = { allow: [] as string[], loopback: false }) {
  const passed: string[] = []
  for (const url of urls) {
    const refusal = await watched.check(url, targets)
    const sent = await watched.send({ ...attempt(url), ...targets })
    const refused = refusal !== undefined && sent.refused === true && sent.error === refusal
    if (!refused || sent.status !== null) passed.push(url)
  }
  return passed
}

describe('webhook addresses that are refused without a connection', () => {
  it('refuses every spelling of a loopback address without connecting', async () => {
    expect(await passing(urlsOf([...loopbackHosts, '127.255.255.254']))).toEqual([])
  })

  it('refuses every address that is not public, and every name that resolves to one', async () => {
    expect(await passing(urlsOf(internalHosts))).toEqual([])
  })

  it('refuses internal addresses also where loopback is permitted', async () => {
    expect(await passing(urlsOf(internalHosts), { allow: [], loopback: true })).toEqual([])
  })

  it('refuses link-local addresses even when everything is permitted', async () => {
    expect(await passing(urlsOf(linkLocalHosts), { allow: everything, loopback: true })).toEqual([])
    const allow = ['169.254.0.0/16', 'fe80::/10', '::ffff:0:0/96']
    expect(await passing(urlsOf(linkLocalHosts), { allow, loopback: false })).toEqual([])
  })

  it('refuses a URL that is malformed or has a user, a fragment, port 0 or another scheme', async () => {
    expect(await passing(unfitUrls, { allow: everything, loopback: true })).toEqual([])
  })

  it('refuses plain HTTP to a public address', async () => {
    expect(await passing([`http://public.example:${four.port}/`, `http://8.8.8.8:${four.port}/`])).toEqual([])
  })
})

describe('webhooks to loopback where it is permitted', () => {
  it('reaches loopback however it is spelled, where loopback is permitted', async () => {
    const hook = await answers((_, response) => response.end())
    await answers((_, response) => response.end(), { host: '::1', port: hook.port })
    const statuses = await Promise.all(
      loopbackHosts.map(async (host) => {
        const url = `http://${host}:${hook.port}/`
        return { host, status: (await plain.send({ ...attempt(url), loopback: true })).status }
      }),
    )
    expect(statuses.filter(({ status }) => status !== 200)).toEqual([])
  })

  it('reaches a name with two addresses at the one that listens', async () => {
    for (const host of ['127.0.0.1', '::1']) {
      const hook = await answering((_, response) => response.end(), { host })
      const url = `http://two.faces.example:${hook.port}/`
      expect(await plain.send({ ...attempt(url), loopback: true })).toMatchObject({ status: 200 })
      await hook.close()
    }
  })
})

describe('webhooks to a permitted network', () => {
  it('reaches an address of a permitted network over HTTP', async () => {
    const hook = await answers((_, response) => response.end())
    const url = `http://localhost:${hook.port}/`
    const sent = await plain.send({ ...attempt(url), allow: ['127.0.0.0/8', '::1/128'] })
    expect(sent).toMatchObject({ status: 200, error: null })
  })

  it('refuses addresses next to a permitted network', async () => {
    const targets = { allow: ['127.0.0.2/32', '10.0.0.0/8'], loopback: false }
    expect(await passing(urlsOf(['127.0.0.1', 'localhost', '[::1]']), targets)).toEqual([])
  })
})

describe('redirects of a receiver', () => {
  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect of %i to an internal address',
    async (status) => {
      const location = `http://127.0.0.1:${four.port}/`
      const hook = await answers((_, response) => response.writeHead(status, { location }).end())
      const sent = await plain.send({ ...attempt(`http://127.0.0.1:${hook.port}/`), loopback: true })
      const error = `The receiver answered ${status}; redirects are not followed`
      expect(sent).toMatchObject({ status, error })
    },
  )
})

describe('the address a webhook connects to', () => {
  it('connects to the address that was checked, though a second lookup would return another', async () => {
    const hook = await answers((_, response) => response.end())
    const found = [['127.0.0.2'], ['127.0.0.3']]
    const dialled: string[] = []
    let lookups = 0
    const sender = closeAfterTest(
      createSender({
        resolve: async () => found[lookups++] ?? [],
        chooseAddresses: (addresses) => {
          dialled.push(...addresses)
          return ['127.0.0.1']
        },
      }),
    )
    const url = `http://rebinding.example:${hook.port}/`
    const sent = await sender.send({ ...attempt(url), allow: ['127.0.0.2/32'] })
    expect(sent.status).toBe(200)
    expect(lookups).toBe(1)
    expect(dialled).toEqual(['127.0.0.2'])
  })

  it('checks the address at each attempt, even while the last connection is still open', async () => {
    const hook = await answers((_, response) => response.end())
    const found = [['127.0.0.1'], ['10.1.2.3'], ['::1']]
    const sender = closeAfterTest(createSender({ resolve: async () => found.shift() ?? [] }))
    const url = `http://rebinding.example:${hook.port}/`
    const post = () => sender.send({ ...attempt(url), allow: ['127.0.0.1', '::1'] })
    expect(await post()).toMatchObject({ status: 200 })
    expect(await post()).toMatchObject({ status: null, refused: true })
    // Listens on 127.0.0.1 alone: the connection that is open there must not serve another address.
    expect(await post()).toMatchObject({ status: null, error: expect.stringContaining('refused') })
  })
})
