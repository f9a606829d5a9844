import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { csv, csvOf, known, knownFrom, machines } from './paying.js'

const filled = perFile(() => machines(60, 1_000))

const here = perTest(() => filled.copy())

const charged = async () => (await here.charges()).length
const sources = (name = 'out.csv') =>
  here.rows(name).map(({ _source, _credits, _status }) => [_source, _credits, _status])

const newest = async () => (await here.runs())[0]?.id ?? ''

/** A run of 20 rows that its budget stopped after `after` paid ones. */
async function stopped(after = 8): Promise<string> {
  here.write('in.csv', csvOf(20))
  expect((await here.enrich(`--max-credits ${after}`)).code).toBe(12)
  return newest()
}

it('the same command twice spends nothing the second time, says so, and writes the same output', async () => {
  here.write('in.csv', csv([...knownFrom(20), 'WWW.company-3.example', 'nobody.example']))
  expect((await here.enrich()).code).toBe(0)
  const first = here.read('out.csv')
  rmSync(here.path('out.csv'))
  const quoted = await here.enrich('--dry-run')
  expect(quoted.stderr).toMatch(
    /^Run \S+ is finished\. Without --dry-run, its output is written again, and nothing is spent\./m,
  )
  const again = await here.enrich()
  expect([again.code, here.read('out.csv'), await charged()]).toEqual([0, first, 20])
  expect(again.stderr).toMatch(/^Run \S+ is finished: its output is written again, and nothing is spent\./m)
  // Where the answers come from stands before what they are, as in every run.
  expect(again.stderr).toMatch(/^Answers come from .*\n22 rows in /m)
  expect(await here.runs()).toHaveLength(1)
})

describe('stored answers', () => {
  it('reuses stored answers in a --fresh run, and says how many and how old', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    await ends(here.enrich('--fresh'), 0, /^20 of 20 reused, the oldest \d+ s old; --refresh asks again\.$/m)
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
    await here.run(`runs forget ${run?.id ?? ''}`)
    expect((await here.enrich()).code).toBe(0)
    expect([await charged(), sources().map(([source]) => source)]).toEqual([5, Array(5).fill('reused')])
  })

  it('ignores stored answers with --refresh, --max-age 0 and the setting max_age = 0', async () => {
    here.write('in.csv', csvOf(5))
    await here.enrich()
    await here.enrich('--fresh --max-age 90d --refresh')
    expect([await charged(), sources().map(([source]) => source)]).toEqual([10, Array(5).fill('lookup')])
    here.write('in.csv', csv([known(0)]))
    await here.enrich('--max-age 0')
    expect(await charged()).toBe(11)
    await here.run('config set max_age 0')
    await here.enrich('--fresh')
    expect(await charged()).toBe(12)
  })

  it('pays for each company once, whatever files, samples, orders and names of columns it comes in', async () => {
    const files = fc.array(
      fc.record({
        rows: fc.uniqueArray(fc.nat({ max: 29 }), { minLength: 1, maxLength: 15 }),
        header: fc.constantFrom('Website', 'domain,note', 'Name;Homepage'),
        more: fc.constantFrom('', '--sample 3', '--rows 4', '--fresh'),
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
          const { code, stderr } = await one.enrich(`--fresh ${more}`)
          expect([code, stderr]).toEqual([0, expect.any(String)])
          for (const { domain = '', _status } of one.rows('out.csv'))
            if (_status === 'found') looked.add(domain)
        }
        expect((await one.charges()).length).toBe(looked.size)
        one.remove()
      }),
      { numRuns: tries(3, 25) },
    )
  })

  it('ends the reuse of older answers with an import: what was not found is found when the command is repeated', async () => {
    here.write('in.csv', csv([known(1), 'late.example']))
    await here.enrich()
    expect(sources()).toEqual([
      ['lookup', '1', 'found'],
      ['lookup', '0', 'not_found'],
    ])
    here.write('late.csv', 'name,domain\nLate,late.example\n')
    await here.json('data import companies late.csv')
    expect(await here.json('accounts enrich --csv in.csv --dry-run')).toMatchObject({
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
    expect(await here.json('accounts enrich --csv in.csv --dry-run')).toMatchObject({
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
    expect((await here.enrich('--refresh --max-credits 8')).code).toBe(12)
    expect((await here.enrich('--refresh --max-credits 20')).code).toBe(0)
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
    await here.json('data import companies more.csv')
    here.write('in.csv', spelled)
  })

  it('are charged once where the first answer shows the second, and the same again in the next run', async () => {
    const { stderr } = await here.enrich('--concurrency 1')
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
    await here.enrich('--sample 1')
    expect(sources()).toEqual([['lookup', '1', 'found']])
    expect(here.rows('out.csv')).toMatchObject([{ name: 'Acme Robotics GmbH' }])
    expect((await here.enrich('--max-credits 1')).code).toBe(0)
    const [, second, third, fourth] = once
    const ofSample = ['reused', '0', 'found']
    expect([sources(), await charged()]).toEqual([[third, ofSample, ofSample, ofSample], 2])
    expect((await here.enrich('--refresh --concurrency 1')).code).toBe(0)
    expect([sources(), await charged()]).toEqual([[third, ofSample, second, fourth], 3])
  })

  it('are charged once when the run is stopped by its budget between them', async () => {
    expect((await here.enrich('--max-credits 1 --concurrency 1')).code).toBe(12)
    expect((await here.enrich('--max-credits 2')).code).toBe(0)
    expect([sources(), await charged()]).toEqual([once, 2])
  })

  it('are two lookups with other options in each row', async () => {
    here.write('in.csv', 'name,domain,live\nAcme Robotics GmbH,,false\n,acme-robotics.example,true\n')
    await here.enrich('--concurrency 1 --map live=live')
    expect(await charged()).toBe(2)
  })
})

describe('a changed file', () => {
  it.each([
    ['one byte', (text: string) => text.replace('company-0', 'company-9')],
    ['a row more', () => csvOf(21)],
    ['another order', () => csv(csvOf(20).split('\n').slice(1, -1).toReversed())],
  ])(
    'refuses the changed file of a run with paid rows with exit 2, and spends nothing: %s',
    async (_, change) => {
      const id = await stopped()
      const partial = here.read('out.csv.partial')
      here.write('in.csv', change(csvOf(20)))
      for (const more of ['', '--max-age 90d', '--refresh']) {
        const { code, stderr } = await here.enrich(more)
        expect([code, stderr.includes(`prospect runs forget ${id}`), stderr.includes('--fresh')]).toEqual([
          2,
          true,
          true,
        ])
      }
      await ends(here.run(`runs resume ${id} --max-credits 100`), 2, 'it has changed')
      expect([await charged(), here.read('out.csv.partial'), (await here.runs()).length]).toEqual([
        8,
        partial,
        1,
      ])
    },
  )

  // Each part is the rows of the file, the options and the exit code.
  it.each([
    ['resumes the run when the original is restored', '20 --max-credits 8 = 12, 21 = 2, 20 = 0', 20],
    ['starts a new run with --fresh', '20 --max-credits 8 = 12, 21 --fresh --refresh = 0', 8 + 21],
    ['starts another one after that', '20 --max-credits 8 = 12, 21 --fresh = 0, 22 --refresh = 0', 21 + 22],
    [
      'is refused after a run with other options',
      '20 --max-credits 8 = 12, 20 --no-live = 0, 21 = 2',
      8 + 20,
    ],
    ['is accepted after the same run anew', '20 --max-credits 8 = 12, 20 --fresh = 0, 21 = 0', 21],
    ['starts a new run when nothing was paid', '20 --max-credits 0 = 12, 21 = 0', 21],
    ['starts a new run when the old one is finished', '20 = 0, 21 --refresh = 0', 20 + 21],
  ])('%s: %s', async (_, parts, spent) => {
    for (const part of parts.split(', ')) {
      const [, rows, options = '', exit] = /^(\d+)(.*) = (\d+)$/.exec(part) ?? []
      here.write('in.csv', csvOf(Number(rows)))
      expect((await here.enrich(options)).code).toBe(Number(exit))
    }
    expect(await charged()).toBe(spent)
  })

  it('accepts another file or operation while a changed file blocks its run', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    here.write('other.csv', csvOf(22))
    const other = '--csv other.csv -o other.out.csv'
    expect((await here.run(`accounts enrich ${other}`)).code).toBe(0)
    const headcount = 'accounts headcount --csv in.csv -o headcount.csv'
    expect((await here.run(headcount)).code).not.toBe(2)
  })
})

it('resumes the given run even when a newer run has the same content', async () => {
  await here.run('config set max_age 0')
  const id = await stopped()
  await here.enrich('--fresh')
  expect((await here.run(`runs resume ${id} --max-credits 100`)).code).toBe(0)
  expect((await here.runs()).map(({ status, credits }) => [status, credits])).toEqual([
    ['finished', 20],
    ['finished', 20],
  ])
  expect(await charged()).toBe(40)
})

it('runs export refuses a format that is not for rows, without a word about an option that nobody typed', async () => {
  const ended = await ends(
    here.run(`runs export ${await stopped()} --format table`),
    2,
    'The format table is not for the rows of a file.',
  )
  expect(ended.stderr).not.toContain('--csv')
})

it.each(['show', 'resume', 'export', 'forget'])(
  'exits 9 for an unknown id in runs %s, and suggests runs list',
  async (word) => {
    await stopped()
    await ends(
      here.run(`runs ${word} ffff-no-such-run`),
      9,
      'There is no run ffff-no-such-run.',
      'prospect runs list',
    )
  },
)
