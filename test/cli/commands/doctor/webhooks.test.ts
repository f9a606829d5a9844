import { describe, expect, it } from 'vitest'
import { answering, freePort } from '../../../client/listeners.js'
import { perTest } from '../../../support/each.js'
import { type Given, place } from './place.js'

const here = perTest(place)

const far = { baseUrl: 'https://api.example.com/api/v2' }
const tunnel = async (url = 'https://tunnel.example') => here.run(['config', 'set', 'public_url', url])
const lines = (given: Given = {}) => here.lines('webhooks', { options: far, ...given })

describe('doctor: webhooks', () => {
  it('skips the webhook check for the local engine', async () => {
    expect(await here.look('webhooks')).toEqual([])
  })

  it('says that results are polled without a public URL', async () => {
    expect(await lines()).toEqual([expect.stringMatching(/^ok .*public_url.*poll/)])
  })

  it('calls the public URL to see whether it is down, leads elsewhere or leads here', async () => {
    await tunnel(`http://127.0.0.1:${await freePort()}`)
    expect(await lines()).toEqual([expect.stringMatching(/cannot be reached|in use/)])
    const elsewhere = await answering((_, response) => response.writeHead(418).end())
    await tunnel(`http://127.0.0.1:${elsewhere.port}/in`)
    expect(await lines()).toEqual([expect.stringMatching(/answers 418|in use/)])
    await elsewhere.close()
    const home = await answering(async (request, response) => {
      const headers = { host: request.headers.host ?? '' }
      const { status } = await fetch(`http://127.0.0.1:4011${request.url}`, { headers })
      response.writeHead(status).end()
    })
    await tunnel(`http://127.0.0.1:${home.port}`)
    expect(await lines()).toEqual([expect.stringMatching(/leads to this machine|in use/)])
    await home.close()
  })
})
