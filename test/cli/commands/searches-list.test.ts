import { describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const url = 'https://www.network.example/search/results/people/?keywords=sales'

describe('searches list', () => {
  it('says on stderr how many searches it does not list', async () => {
    await here.run(['data', 'import', 'people', '-'], {
      stdin:
        'first_name,last_name,title,network_profile_url\nAnn,Other,Head of Sales,https://www.network.example/in/ann\n',
    })
    await here.json('leads', 'extract', url)
    const some = await here.run(['searches', 'list'])
    expect([some.json, some.stderr]).toMatchObject([{ searches: [] }, expect.stringContaining('1 more')])
    expect(some.stderr).toContain('--no-enriched')
    const all = await here.run(['searches', 'list', '--no-enriched'])
    expect([all.json, all.stderr]).toMatchObject([{ searches: [{ leads_count: 1 }] }, ''])
  })
})
