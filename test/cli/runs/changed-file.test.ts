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

/** A run of 20 rows that its budget stopped after `after` paid ones. */
async function stopped(after = 8): Promise<string> {
  here.write('in.csv', csvOf(20))
  expect((await here.enrich('--max-credits', String(after))).code).toBe(12)
  return newest()
}

describe('a changed file whose run has paid rows', () => {
  it('refuses the changed file of a run with paid rows with exit 2, and spends and writes nothing', async () => {
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

  it('resumes the run when the original file is restored', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    await here.enrich()
    here.write('in.csv', csvOf(20))
    expect([(await here.enrich()).code, await charged()]).toEqual([0, 20])
  })

  it('starts a new run with --fresh, and another one for the next change without it', async () => {
    await stopped()
    here.write('in.csv', csvOf(21))
    expect((await here.enrich('--fresh', '--refresh')).code).toBe(0)
    here.write('in.csv', csvOf(22))
    expect((await here.enrich('--refresh')).code).toBe(0)
    expect(await charged()).toBe(8 + 21 + 22)
  })

  it('starts a new run after the old one was forgotten', async () => {
    const id = await stopped()
    here.write('in.csv', csvOf(21))
    expect((await here.run('runs', 'forget', id)).code).toBe(0)
    expect((await here.enrich()).code).toBe(0)
  })

  it('refuses the changed file even when its old content was finished with other options', async () => {
    const id = await stopped()
    expect((await here.enrich('--no-live')).code).toBe(0)
    const before = await charged()
    here.write('in.csv', csvOf(21))
    const { code, stderr } = await here.enrich()
    expect([code, stderr.includes(id), await charged()]).toEqual([2, true, before])
  })

  it('accepts the changed file when the unfinished run was started again and finished', async () => {
    await stopped()
    expect((await here.enrich('--fresh')).code).toBe(0)
    here.write('in.csv', csvOf(21))
    expect((await here.enrich()).code).toBe(0)
  })
})

describe('a changed file without a run to protect', () => {
  it('starts a new run over a changed file when nothing was paid', async () => {
    await stopped(0)
    here.write('in.csv', csvOf(21))
    expect((await here.enrich()).code).toBe(0)
  })

  it('starts a new run over a changed file when the old run is finished', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    here.write('in.csv', csvOf(21))
    expect((await here.enrich('--refresh')).code).toBe(0)
    expect(await charged()).toBe(41)
  })

  it('accepts another file or operation while a changed file blocks its run', async () => {
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
  it('refuses to overwrite its input under any name, and spends nothing', async () => {
    here.write('in.csv', csvOf(3))
    symlinkSync(join(here.home, 'in.csv'), join(here.home, 'link.csv'))
    for (const name of ['in.csv', './in.csv', 'link.csv']) {
      const { code, stderr } = await here.enrich('-o', name)
      expect([code, stderr.includes('would overwrite the input file')]).toEqual([2, true])
    }
    expect([await charged(), here.read('in.csv')]).toEqual([0, csvOf(3)])
  })
})
