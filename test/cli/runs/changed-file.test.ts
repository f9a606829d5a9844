import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { csvOf, machines, type Paying } from './paying.js'

let filled: Awaited<ReturnType<typeof machines>>
beforeAll(async () => {
  filled = await machines(60, 1_000)
})
afterAll(() => filled.remove())

let here: Paying
beforeEach(() => {
  here = filled.copy()
})
afterEach(() => here.remove())

const charged = async () => (await here.charges()).length
const newest = async () => (await here.runs())[0]?.id ?? ''

/** A run of 20 rows that a budget stopped when so many were paid. */
async function stopped(after = 8): Promise<string> {
  here.write('in.csv', csvOf(20))
  expect((await here.enrich('--max-credits', String(after))).code).toBe(12)
  return newest()
}

describe('a file that changed under a run with paid rows', () => {
  it('is refused with exit 2, and nothing is spent or written', async () => {
    const id = await stopped()
    const partial = here.read('out.csv.partial')
    here.write('in.csv', csvOf(21))
    for (const more of [[], ['--max-age', '90d'], ['--refresh']]) {
      const { code, stderr } = await here.enrich(...more)
      expect([code, stderr.includes(`prospect runs forget ${id}`), stderr.includes('--fresh')]).toEqual([
        ...[2, true, true],
      ])
    }
    expect([await charged(), here.read('out.csv.partial'), (await here.runs()).length]).toEqual([
      8,
      partial,
      1,
    ])
  })

  it('goes on when it is put back', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    await here.enrich()
    here.write('in.csv', csvOf(20))
    expect([(await here.enrich()).code, await charged()]).toEqual([0, 20])
  })

  it('is a new run with --fresh, from then on without it', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    expect((await here.enrich('--fresh')).code).toBe(0)
    here.write('in.csv', csvOf(22))
    expect((await here.enrich()).code).toBe(0)
    expect(await charged()).toBe(8 + 21 + 22)
  })

  it('is a new run once the old one is forgotten', async () => {
    const id = await stopped()
    here.write('in.csv', csvOf(21))
    expect((await here.run('runs', 'forget', id)).code).toBe(0)
    expect((await here.enrich()).code).toBe(0)
  })

  it('is refused too when the same content was read with other options in between', async () => {
    const id = await stopped()
    expect((await here.enrich('--no-live')).code).toBe(0)
    const before = await charged()
    here.write('in.csv', csvOf(21))
    const { code, stderr } = await here.enrich()
    expect([code, stderr.includes(id), await charged()]).toEqual([2, true, before])
  })

  it('is not refused when the unfinished run was started anew and is finished', async () => {
    await stopped()
    expect((await here.enrich('--fresh')).code).toBe(0)
    here.write('in.csv', csvOf(21))
    expect((await here.enrich()).code).toBe(0)
  })
})

describe('a file that changed', () => {
  it('is a new run where nothing was paid', async () => {
    await stopped(0)
    here.write('in.csv', csvOf(21))
    expect((await here.enrich()).code).toBe(0)
  })

  it('is a new run where the old one is finished', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    here.write('in.csv', csvOf(21))
    expect((await here.enrich()).code).toBe(0)
    expect(await charged()).toBe(41)
  })

  it('is no matter to another file or another operation', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    here.write('other.csv', csvOf(22))
    const other = ['--csv', 'other.csv', '-o', 'other.out.csv']
    expect((await here.run('accounts', 'enrich', ...other)).code).toBe(0)
    const headcount = ['accounts', 'headcount', '--csv', 'in.csv', '-o', 'headcount.csv']
    expect((await here.run(...headcount)).code).not.toBe(2)
  })
})

describe('an output that is the input', () => {
  it('is refused with exit 2, by whatever name, and nothing is spent', async () => {
    here.write('in.csv', csvOf(3))
    symlinkSync(join(here.home, 'in.csv'), join(here.home, 'link.csv'))
    for (const name of ['in.csv', './in.csv', 'link.csv']) {
      const { code, stderr } = await here.enrich('-o', name)
      expect([code, stderr.includes('would replace the file that is read')]).toEqual([2, true])
    }
    expect([await charged(), here.read('in.csv')]).toEqual([0, csvOf(3)])
  })
})
