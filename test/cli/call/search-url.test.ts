import { beforeEach, describe, expect, it } from 'vitest'
import { ends, errorOf, stockedMachine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(stockedMachine)

const explain = (url: string, ...options: string[]) =>
  here.run(['leads', 'extract', url, '--dry-run', '--json', ...options])
const known = 'https://www.network.example/sales/search/people?query=(keywords:cto)'
const unknown = 'https://www.network.example/sales/search/people?query=(filters:List((type:MOON)))'
const server = ['--base-url', 'https://api.example.com/api/v2']

describe('a dry run of a pasted search', () => {
  it('prints the filters in words, and how many records of this machine match', async () => {
    const filters = '(type:FUNCTION,values:List((id:25,text:Sales,selectionType:INCLUDED)))'
    const page = 'https://www.linkedin.com/sales/search/people?query='
    expect((await explain(`${page}(filters:List(${filters}),keywords:robots)`)).json).toMatchObject({
      path: '/leads',
      search: { filters: { functions: ['Sales'], keyword: 'robots' }, total: 0 },
    })
  })

  it('does not know the number of matches of a server', async () => {
    const ended = await explain(known, ...server)
    expect(ended.json).toMatchObject({ search: { filters: { keyword: 'cto' }, total: null } })
    expect(ended.stderr).toContain('The number of matches is not known in advance')
  })

  it('leaves filters that are not known here to a server, and refuses them for the local engine', async () => {
    const ended = await explain(unknown, ...server)
    expect([ended.code, (ended.json as { search: unknown }).search]).toEqual([
      0,
      { filters: null, total: null },
    ])
    expect(ended.stderr).toContain('The filters of this URL are not known here')
    const refused = await explain(unknown)
    expect(refused.code).not.toBe(0)
    expect(errorOf(refused).error).toContain('MOON')
  })
})

describe('a search that excludes a company nobody knows', () => {
  const note = '1 of 1 excluded company is unknown and excludes nobody: nobody.example.'
  beforeEach(() =>
    ends(here.fill('people', 'first_name,last_name,company_domain\nAda,King,sole.example\n'), 0),
  )

  it('is done, and says so once on stderr and in the reply', async () => {
    const page = 'https://www.network.example/sales/search/people?query='
    const url = `${page}(filters:List((type:CURRENT_COMPANY,values:List((text:nobody.example,selectionType:EXCLUDED)))))`
    const extracted = await here.run(`leads extract ${url} --json`)
    expect([extracted.code, extracted.json]).toMatchObject([0, { note }])
    expect(extracted.stderr.split(note)).toHaveLength(2)
  })

  it('shows it once on a terminal, where the table is', async () => {
    const argv = 'leads advanced-search --preview --excluded-companies nobody.example'
    const shown = await here.run(argv, { terminal: true, columns: 200 })
    expect([shown.code, shown.stdout]).toEqual([0, expect.not.stringContaining('nobody.example')])
    expect(shown.stderr).toContain(note)
  })
})
