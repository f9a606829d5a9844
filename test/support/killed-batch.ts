import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { parse as parseUrl } from 'tldts'
import { expect } from 'vitest'
import { openEngine } from '../../src/index.js'
import { runsOver } from '../../src/runs/journal/runs.js'
import { openState } from '../../src/storage/state/open.js'
import { isLong } from './effort.js'
import { randomIds } from './engine.js'
import { makeFolder } from './new-folder.js'
import { launch } from './processes.js'

/** Whole numbers below a limit, the same for the same seed (mulberry32). */
export function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A row of the file: the company it asks for. */
const domainOf = (row: number): string => {
  // One in seven may repeat a row before it, in another spelling; one in eleven is in no catalogue.
  if (row % 7 === 6) return `https://www.Company-${Math.floor(row / 2)}.example/about`
  return row % 11 === 5 ? `unknown-${row}.example` : `company-${row}.example`
}

const isKnown = (domain: string): boolean => domain.startsWith('company-')

const plain = (domain: string): string =>
  domain
    .toLowerCase()
    .replace(/^https:\/\/www\./, '')
    .replace(/\/about$/, '')

/** Makes a file to enrich of so many rows in a folder of its own, with a home whose catalogue knows most of it. */
export async function toEnrich(rows: number) {
  const folder = makeFolder()
  const domains = Array.from({ length: rows }, (_, row) => domainOf(row))
  const lookups = [...new Set(domains.map(plain))]
  return {
    folder,
    env: await prepare(folder, domains),
    /** Lookups of the file that differ. */
    distinct: lookups.length,
    /** What became of it, once `out.csv` is there. */
    survived: async (kills: number) => ({
      kills,
      domains,
      ...(await outcome(folder)),
      /** Different companies of the file that are in the catalogue. */
      resolvable: lookups.filter(isKnown).length,
    }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

type Survived = Awaited<ReturnType<Awaited<ReturnType<typeof toEnrich>>['survived']>>

/** Kills the run of a file of so many rows at random points, goes on after each kill, and lets it end at last. */
export async function killedBatch(
  program: string,
  { rows, kills, seed }: { readonly rows: number; readonly kills: number; readonly seed: number },
) {
  const file = await toEnrich(rows)
  try {
    const { folder, env, distinct } = file
    const run = (...args: string[]) => launch(program, ['in.csv', 'out.csv', ...args], folder, env)
    const pick = random(seed)
    let killed = 0
    for (let calls = 0; killed < kills; ) {
      // So that the kills are spread over the whole run, whatever they leave to be done again.
      const step = Math.max(1, Math.floor((1.2 * (distinct - calls)) / (kills - killed + 1)))
      const at = 1 + pick(step)
      const { signal } = await run(String(at), pick(2) === 0 ? 'before' : 'after', String(pick(40)))
      if (signal !== 'SIGKILL') break
      killed++
      calls = await answered(folder)
    }
    const last = await run()
    if (last.exitCode !== 0) throw new Error(`the last part ended with ${last.exitCode}: ${last.stderr}`)
    return await file.survived(killed)
  } finally {
    file.remove()
  }
}

/** Makes a home whose catalogue has the companies; answers the environment that chooses it. */
async function prepare(folder: string, domains: readonly string[]): Promise<Record<string, string>> {
  writeFileSync(join(folder, 'in.csv'), `Website\n${domains.join('\n')}\n`)
  const home = join(folder, 'home')
  const { admin, catalogue, close } = await openEngine({ ...filesOf(home), ids: randomIds })
  const known = [...new Set(domains.map(plain))].filter(isKnown)
  await catalogue.importRecords(
    'companies',
    known.map((domain) => ({ domain, name: `Name of ${domain}`, description: 'x'.repeat(200) })),
  )
  const { key = '' } = await admin.init()
  await admin.setCredits(1_000_000)
  await close()
  return { PROSPECT_HOME: home, PROSPECT_API_KEY: key }
}

const filesOf = (home: string) => ({ engine: join(home, 'engine.db'), catalogue: join(home, 'catalogue.db') })

/** Rows that have an answer on record. */
async function answered(folder: string): Promise<number> {
  const state = await openState(join(folder, 'home', 'state.db'))
  const found = await state.read((tx) =>
    tx.get<{ n: number }>('SELECT count(*) AS n FROM lookups WHERE answered_at IS NOT NULL'),
  )
  await state.close()
  return found?.n ?? 0
}

async function outcome(folder: string) {
  const { admin, close } = await openEngine(filesOf(join(folder, 'home')))
  const status = await admin.status()
  const { problems } = await admin.verify()
  await close()
  const state = await openState(join(folder, 'home', 'state.db'))
  const runs = await runsOver(state).list()
  await state.close()
  const rows = parse(readFileSync(join(folder, 'out.csv')), { columns: true }) as Record<string, string>[]
  return {
    rows,
    /** Credits that the engine's ledger says were spent. */
    spent: 1_000_000 - status.credits.enrichment,
    ledgerProblems: problems,
    /** What the runs of this machine say they cost. */
    credits: runs.reduce((sum, run) => sum + run.credits, 0),
  }
}

/** Checks that a run that was killed lost no row, doubled none, and paid for each company once. */
export function expectNothingLost({
  rows,
  domains,
  resolvable,
  spent,
  credits,
  ledgerProblems,
}: Survived): void {
  expect(rows.map(({ Website }) => Website)).toEqual(domains)
  for (const { Website = '', domain, _status } of rows) {
    const asked = parseUrl(Website).domain ?? ''
    expect([Website, domain, _status]).toEqual(
      asked.startsWith('company-') ? [Website, asked, 'found'] : [Website, '', 'not_found'],
    )
  }
  expect(rows.reduce((sum, row) => sum + Number(row._credits), 0)).toBe(resolvable)
  expect([spent, credits, ledgerProblems]).toEqual([resolvable, resolvable, []])
}

/**
 * Files and single lookups that ask for the same companies at once, each killed at some answer, so many times over.
 * Expects that every company was paid for once.
 */
export async function sharedByKilledCommands(program: string, histories: number): Promise<void> {
  for (let history = 0; history < histories; history++) {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? (Date.now() % 1_000_000) + history)
    const file = await toEnrich(60)
    try {
      const { folder, env } = file
      const pick = random(seed)
      const [header = '', ...lines] = readFileSync(join(folder, 'in.csv'), 'utf8').trim().split('\n')
      const spell = (line: string) =>
        pick(3) === 0 ? `https://www.${line.replace(/^https:..www.|.about$/g, '')}/a` : line
      const once = async (name: string, call: number, when: string) => {
        const some = lines.filter(() => pick(4) > 0).map(spell)
        for (let at = some.length - 1; at > 0; at--) some.push(...some.splice(pick(at + 1), 1))
        const how = ['out.csv', String(call), when, String(pick(40))]
        if (pick(3) === 0) {
          writeFileSync(join(folder, `${name}.txt`), some.slice(0, 12).join('\n'))
          return launch(program, [`${name}.txt`, ...how], folder, env)
        }
        writeFileSync(join(folder, `${name}.csv`), `${header}s of ${name}\n${some.join('\n')}\n`)
        const argv = [`${name}.csv`, `${name}-${how[0]}`, ...how.slice(1)]
        return launch(program, [...argv, '--map', `domain=${header}s of ${name}`], folder, env)
      }
      const parts = Array.from({ length: isLong ? 3 + pick(6) : 4 }, (_, at) => `part ${at}`)
      await Promise.all(
        parts.map((name) => once(name, pick(3) === 0 ? 0 : 1 + pick(30), pick(2) === 0 ? 'before' : 'after')),
      )
      expect((await launch(program, ['in.csv', 'out.csv'], folder, env)).exitCode).toBe(0)
      const { spent, resolvable } = await file.survived(0)
      expect([spent, `PROSPECT_TEST_SEED=${seed}`]).toEqual([resolvable, expect.any(String)])
    } finally {
      file.remove()
    }
  }
}
