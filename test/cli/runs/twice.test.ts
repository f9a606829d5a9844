import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tries } from '../../support/effort.js'
import { csv, csvOf, known, machines, type Paying } from './paying.js'

let filled: Awaited<ReturnType<typeof machines>>
beforeAll(async () => {
  filled = await machines(40, 1_000)
})
afterAll(() => filled.remove())

let here: Paying
beforeEach(() => {
  here = filled.copy()
})
afterEach(() => here.remove())

const charged = async () => (await here.charges()).length
const sources = (name = 'out.csv') =>
  here.rows(name).map(({ _source, _credits, _status }) => [_source, _credits, _status])

describe('the same command twice', () => {
  it('spends nothing the second time, says so, and writes the same output', async () => {
    here.write(
      'in.csv',
      csv([...csvOf(20).split('\n').slice(1, -1), 'WWW.company-3.example', 'nobody.example']),
    )
    expect((await here.enrich()).code).toBe(0)
    const first = here.read('out.csv')
    rmSync(join(here.home, 'out.csv'))
    const quoted = await here.enrich('--dry-run')
    expect(quoted.stderr).toMatch(
      /^Run \S+ is finished\. Without --dry-run, its output is written again, and nothing is spent\./m,
    )
    const again = await here.enrich()
    expect([again.code, here.read('out.csv'), await charged()]).toEqual([0, first, 20])
    expect(again.stderr).toMatch(/^Run \S+ is finished: its output is written again, and nothing is spent\./m)
    expect(await here.runs()).toHaveLength(1)
  })

  it('writes the same bytes to stdout and under another name', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    const first = here.read('out.csv')
    const { stdout } = await here.run('accounts', 'enrich', '--csv', 'in.csv')
    await here.enrich('-o', 'other.csv')
    expect([stdout, here.read('other.csv'), await charged()]).toEqual([first, first, 5])
  })

  it('writes the output again even when no credits are left', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    await here.json('engine', 'credits', 'set', '0')
    expect((await here.enrich()).code).toBe(0)
  })

  it('pays again with --refresh, and not with --fresh alone', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    expect((await here.enrich('--fresh')).code).toBe(0)
    expect([await charged(), (await here.runs()).length]).toEqual([20, 2])
    expect((await here.enrich('--refresh')).code).toBe(0)
    expect([await charged(), (await here.runs()).length]).toEqual([40, 3])
  })
})

describe('stored answers', () => {
  it('reuses stored answers in a --fresh run, and says how many and how old', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    const { code, stderr } = await here.enrich('--fresh')
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^20 of 20 reused, the oldest \d+ s old; --refresh asks again\.$/m),
    ])
    expect([await charged(), sources()]).toEqual([
      20,
      Array.from({ length: 20 }, () => ['reused', '0', 'found']),
    ])
  })

  it('reuses stored answers for rows of another file, and pays for the others only', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    here.write('in.csv', csvOf(20, 10))
    expect((await here.enrich()).code).toBe(0)
    expect(sources().map(([source]) => source)).toEqual([
      ...Array.from({ length: 10 }, () => 'reused'),
      ...Array.from({ length: 10 }, () => 'lookup'),
    ])
    expect(await charged()).toBe(30)
  })

  it('reuses stored answers of a forgotten run', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    const [run] = await here.runs()
    await here.run('runs', 'forget', run?.id ?? '')
    expect((await here.enrich()).code).toBe(0)
    expect([await charged(), sources().map(([source]) => source)]).toEqual([5, Array(5).fill('reused')])
  })

  it('ignores stored answers with --refresh, --max-age 0 and the setting max_age = 0', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    await here.enrich('--fresh', '--max-age', '90d', '--refresh')
    expect([await charged(), sources().map(([source]) => source)]).toEqual([10, Array(5).fill('lookup')])
    here.write('in.csv', csv([known(0)]))
    await here.enrich('--max-age', '0')
    expect(await charged()).toBe(11)
    await here.run('config', 'set', 'max_age', '0')
    await here.enrich('--fresh')
    expect(await charged()).toBe(12)
  })

  it('pays for each company once, whatever files, samples, orders and names of columns it comes in', async () => {
    const files = fc.array(
      fc.record({
        rows: fc.uniqueArray(fc.nat({ max: 29 }), { minLength: 1, maxLength: 15 }),
        header: fc.constantFrom('Website', 'domain,note', 'Name;Homepage'),
        more: fc.constantFrom([], ['--sample', '3'], ['--rows', '4'], ['--fresh']),
      }),
      { minLength: 3, maxLength: 5 },
    )
    await fc.assert(
      fc.asyncProperty(files, async (all) => {
        const one = filled.copy()
        const looked = new Set<string>()
        for (const { rows, header, more } of all) {
          const lines = rows.map((at) => header.replace(/Website|domain|Homepage/, known(at)))
          one.write('in.csv', `${header}\n${lines.join('\n')}\n`)
          const { code, stderr } = await one.enrich('--fresh', ...more)
          expect([code, stderr]).toEqual([0, expect.any(String)])
          for (const { domain = '', _status } of one.rows('out.csv'))
            if (_status === 'found') looked.add(domain)
        }
        expect((await one.charges()).length).toBe(looked.size)
        one.remove()
      }),
      { numRuns: tries(3, 200) },
    )
  }, 600_000)

  it('ends the reuse of older answers with an import: what was not found is found when the command is repeated', async () => {
    here.write('in.csv', csv([known(1), 'late.example']))
    await here.enrich()
    expect(sources()).toEqual([
      ['lookup', '1', 'found'],
      ['lookup', '0', 'not_found'],
    ])
    here.write('late.csv', 'name,domain\nLate,late.example\n')
    await here.json('data', 'import', 'companies', 'late.csv')
    expect(await here.json('accounts', 'enrich', '--csv', 'in.csv', '--dry-run')).toMatchObject({
      in_store: 0,
      lookups: 2,
    })
    expect((await here.enrich()).code).toBe(0)
    expect(sources()).toEqual([
      ['lookup', '1', 'found'],
      ['lookup', '1', 'found'],
    ])
    expect((await here.enrich()).stderr).toContain('nothing is spent')
    here.write('in.csv', csv(['late.example', known(1)]))
    expect(await here.json('accounts', 'enrich', '--csv', 'in.csv', '--dry-run')).toMatchObject({
      in_store: 2,
    })
  })

  it('does not reuse answers to other options', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    expect((await here.enrich('--no-live')).code).toBe(0)
    expect(sources().map(([source]) => source)).toEqual(Array(5).fill('lookup'))
  })

  it('does not pay again for rows that the run itself has answered, even with --refresh', async () => {
    here.write('in.csv', csvOf(20))
    expect((await here.enrich('--refresh', '--max-credits', '8')).code).toBe(12)
    expect((await here.enrich('--refresh', '--max-credits', '20')).code).toBe(0)
    expect(await charged()).toBe(20)
  })
})

describe('two spellings of a company in one file', () => {
  const acme = 'Acme Robotics GmbH,acme-robotics.example,https://www.linkedin.com/company/acme-robotics'
  const spelled = `name,domain,network_url
Acme Robotics GmbH,,
,,https://www.linkedin.com/company/acme-robotics/
,${known(1)},
,acme-robotics.example,
`
  const once = [
    ['lookup', '1', 'found'],
    ['duplicate', '0', 'found'],
    ['lookup', '1', 'found'],
    ['duplicate', '0', 'found'],
  ]
  beforeEach(async () => {
    here.write('more.csv', `name,domain,network_url\n${acme}\n`)
    await here.json('data', 'import', 'companies', 'more.csv')
    here.write('in.csv', spelled)
  })

  it('are charged once where the first answer shows the second, and the same again in the next run', async () => {
    const { stderr } = await here.enrich('--concurrency', '1')
    expect([sources(), await charged(), stderr]).toEqual([
      once,
      2,
      expect.stringContaining('2 of them duplicates'),
    ])
    expect((await here.enrich()).code).toBe(0)
    expect((await here.enrich('--fresh')).code).toBe(0)
    expect([sources().map(([source]) => source), await charged()]).toEqual([Array(4).fill('reused'), 2])
  })

  it('are charged once after a sample and within a budget, and with --refresh', async () => {
    const [header, name, url, other, domain] = spelled.split('\n')
    here.write('in.csv', `${[header, other, name, url, domain].join('\n')}\n`)
    await here.enrich('--sample', '1')
    expect(sources()).toEqual([['lookup', '1', 'found']])
    expect(here.rows('out.csv')).toMatchObject([{ name: 'Acme Robotics GmbH' }])
    expect((await here.enrich('--max-credits', '1')).code).toBe(0)
    const [, second, third, fourth] = once
    const whole = [third, ['reused', '0', 'found'], second, fourth]
    expect([sources(), await charged()]).toEqual([whole, 2])
    expect((await here.enrich('--refresh', '--concurrency', '1')).code).toBe(0)
    expect([sources(), await charged()]).toEqual([whole, 3])
  })

  it('are charged once when the run is stopped by its budget between them', async () => {
    expect((await here.enrich('--max-credits', '1', '--concurrency', '1')).code).toBe(12)
    expect((await here.enrich('--max-credits', '2')).code).toBe(0)
    expect([sources(), await charged()]).toEqual([once, 2])
  })

  it('are two lookups with other options in each row', async () => {
    here.write('in.csv', 'name,domain,live\nAcme Robotics GmbH,,false\n,acme-robotics.example,true\n')
    await here.enrich('--concurrency', '1', '--map', 'live=live')
    expect(await charged()).toBe(2)
  })
})
