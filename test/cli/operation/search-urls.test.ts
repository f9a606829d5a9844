import { describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const filters = '(type:FUNCTION,values:List((id:25,text:Sales,selectionType:INCLUDED)))'
const url = `https://www.linkedin.com/sales/search/people?query=(filters:List(${filters}),keywords:robots)`

describe('--dry-run of a search URL', () => {
  it('prints the filters in words, and how many records of this machine match', async () => {
    expect(await here.json('leads', 'extract', url, '--name', 'x', '--dry-run')).toMatchObject({
      path: '/leads',
      search: { filters: { functions: ['Sales'], keyword: 'robots' }, total: 0 },
    })
  })

  it('says that the total is not known before it runs on a server', async () => {
    const env = { PROSPECT_BASE_URL: 'http://127.0.0.1:9/api/v2', PROSPECT_API_KEY: 'k' }
    const argv = [
      'leads',
      'extract',
      url,
      ...'--name x --dry-run --webhook-url https://x.example/hook'.split(' '),
    ]
    const { code, json, stderr } = await here.run(argv, { env })
    expect([code, json]).toMatchObject([0, { search: { filters: { functions: ['Sales'] }, total: null } }])
    expect(stderr).toContain('The number of matches is not known in advance')
  })
})
