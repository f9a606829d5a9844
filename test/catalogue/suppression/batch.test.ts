import { describe, expect, it } from 'vitest'
import { csvOf, machines } from '../../cli/runs/paying.js'
import { perFile, perTest } from '../../support/each.js'

const filled = perFile(() => machines(6, 1_000))

const here = perTest(() => filled.copy())

const statuses = () => here.rows('out.csv').map(({ _status }) => _status)

describe('a batch with rows about suppressed companies', () => {
  it('does not look them up, writes only their own columns, and counts them in quote and summary', async () => {
    here.write('in.csv', csvOf(3))
    await here.run('suppress add company-1.example')
    const quote = await here.enrich('--dry-run --json')
    expect(quote.json).toMatchObject({ rows: 3, lookups: 2, suppressed: 1 })
    const ended = await here.enrich('--summary-json sum.json')
    expect([ended.code, (await here.charges()).length]).toEqual([0, 2])
    expect(ended.stderr).toContain('2 found · 1 suppressed')
    expect(JSON.parse(here.read('sum.json'))).toMatchObject({
      rows: 3,
      found: 2,
      suppressed: 1,
      not_found: 0,
    })
    const [second, first] = here.rows('out.csv')
    expect(second).toMatchObject({ _status: 'found' })
    expect(Object.entries(first ?? {}).filter(([, cell]) => cell !== '')).toEqual([
      ['Website', 'company-1.example'],
      ['_status', 'suppressed'],
      ['_credits', '0'],
    ])
  })

  it('takes the result out of a finished run that is written again, and out of every other output of it', async () => {
    here.write('in.csv', csvOf(3))
    await here.enrich()
    const id = here.rows('out.csv')[2]?.id ?? ''
    expect(id).not.toBe('')
    await here.run('suppress add https://www.company-2.example/')
    const again = await here.enrich()
    expect([again.code, (await here.charges()).length]).toEqual([0, 3])
    expect(statuses()).toEqual(['found', 'found', 'suppressed'])
    const { stdout } = await here.run('runs export --last')
    await here.enrich('--layout hubspot -o crm.csv')
    for (const text of [here.read('out.csv'), stdout, here.read('crm.csv')]) expect(text).not.toContain(id)
    expect(here.rows('crm.csv')).toHaveLength(2)
    await here.enrich('--layout hubspot --keep-input -o kept.csv')
    expect(here.rows('kept.csv')).toHaveLength(2)
    await here.run('suppress remove company-2.example')
    await here.enrich()
    expect([statuses(), (await here.charges()).length]).toEqual([['found', 'found', 'found'], 3])
  })
})

describe('suppress', () => {
  it('warns of the domain of a mailbox provider, and shows which columns of a file it reads', async () => {
    const added = await here.run('suppress add gmail.com acme.example')
    expect([added.code, added.stderr.match(/^.*mailbox provider.*$/gm)]).toEqual([
      0,
      [expect.stringMatching(/^gmail\.com .*To undo: prospect suppress remove gmail\.com$/)],
    ])
    here.write('list.csv', 'Work Email,Reason\nann@acme.example,asked\n')
    expect((await here.run('suppress import list.csv')).stderr).toMatch(/email +<- +"Work Email"/)
  })

  it('warns once of a mailbox provider that stands in many rows of a file', async () => {
    const domains = Array.from({ length: 20_000 }, (_, at) => (at % 100 === 0 ? 'gmail.com' : `c${at}.com`))
    here.write('domains.csv', `Domain\n${domains.join('\n')}\n`)
    const { stderr } = await here.run('suppress import domains.csv')
    expect(stderr.match(/mailbox provider/g)).toHaveLength(1)
  })
})

describe('a single lookup about a suppressed company', () => {
  it('says that it is suppressed, and charges nothing', async () => {
    await here.run('suppress add company-1.example')
    const ended = await here.run('accounts enrich company-1.example')
    expect([ended.code, ended.stderr, await here.charges()]).toEqual([
      9,
      expect.stringContaining('somebody who is suppressed'),
      [],
    ])
    const other = await here.run('accounts enrich nobody.example')
    expect([other.code, other.stderr]).toEqual([9, expect.not.stringContaining('suppressed')])
  })
})

describe('a batch with rows about suppressed people', () => {
  it.each([
    ['contacts waterfall', '--enrichment-type email'],
    ['leads enrich', ''],
  ])(
    'knows them by every column of the file that identifies a person, also where %s does not send it',
    async (line, more) => {
      const people = [
        'First name,Last name,Company domain,E-mail,Account owner',
        'Ann,Able,company-1.example,ann@elsewhere.example,max@ours.example',
        'Bob,Baker,company-1.example,bob@elsewhere.example,max@ours.example',
      ]
      await here.fill('people', 'full_name,company_domain\nSomebody Else,company-1.example\n')
      here.write('people.csv', `${people.join('\n')}\n`)
      here.write('known.csv', 'Email\nbob@elsewhere.example\n')
      await here.run('suppress add ann@elsewhere.example max@ours.example')
      const argv = `${line} --csv people.csv ${more} --yes -o out.csv`
      const quote = await here.run(`${argv} --dry-run --json`)
      expect(quote.json).toMatchObject({ rows: 2, lookups: 1, suppressed: 1 })
      await here.run(argv)
      expect(statuses()).toEqual(['suppressed', 'not_found'])
      await here.run(`${argv} --skip-known known.csv`)
      expect(statuses()).toEqual(['suppressed'])
    },
  )
})
