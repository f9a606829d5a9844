import { describe, expect, it } from 'vitest'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

describe('prospect openapi', () => {
  it('prints the document that a server offers', async () => {
    const printed = (await here.run('openapi')).json as { paths: object }
    expect(Object.keys(printed.paths)).toContain('/accounts/single_enrich')
    expect({ ...printed, servers: [] }).toEqual({
      ...(await here.json<object>('api GET /openapi.json')),
      servers: [],
    })
  })

  it('writes the document to a file', async () => {
    expect((await here.run('openapi -o api.json')).stdout).toBe('')
    expect(JSON.parse(here.read('api.json'))).toMatchObject({ openapi: '3.1.0' })
  })
})
