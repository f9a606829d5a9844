import { cpSync, statSync } from 'node:fs'
import { type Line, machine, wordsOf } from '../../support/command.js'

/** A run as `runs list --json` prints it. */
export interface Listed {
  readonly id: string
  readonly status: string
  readonly rows: number
  readonly done: number
  readonly credits: number
}

/** A domain that the engine knows. */
export const known = (at: number): string => `company-${at}.example`

export const knownFrom = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, at) => known(from + at))

/** A file of `count` known companies, starting at number `from`. */
export const csvOf = (count: number, from = 0): string => csv(knownFrom(count, from))

/** A file with these domains. */
export const csv = (domains: readonly string[]): string => `Website\n${domains.join('\n')}\n`

/** Creates an engine with known companies and credits. Each machine gets a copy of it. */
export async function machines(companies: number, credits: number) {
  const first = machine()
  await first.fill('companies', csvOf(companies))
  await first.json(`engine credits set ${credits}`)
  return { ...first, copy: () => copyOf(first.home) }
}

/** A machine whose local engine knows companies and charges for them. */
function copyOf(filled: string) {
  const one = machine()
  cpSync(filled, one.home, { recursive: true })
  return {
    ...one,
    /** Enriches `in.csv` into `out.csv`. */
    enrich: (line: Line = '') =>
      one.run([...wordsOf('accounts enrich --csv in.csv -o out.csv'), ...wordsOf(line)]),
    /** The runs on record, newest first. */
    runs: () => one.json<Listed[]>('runs list'),
    /** Returns the amount of each charge in the engine's ledger. */
    charges: async () => {
      const movements = await one.json<{ operation: string | null; change: number }[]>('engine ledger')
      return movements.filter(({ operation }) => operation !== null).map(({ change }) => -change)
    },
  }
}

/** Returns the sum of the `_credits` of rows. */
export const paid = (rows: readonly Readonly<Record<string, string>>[]): number =>
  rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)

/** Resolves when a file has changed `times` times, its writer has ended, or 4 s have passed. */
export async function written(path: string, times: number, isRunning: () => boolean): Promise<void> {
  const last = () => statSync(path, { throwIfNoEntry: false })?.mtimeMs
  const giveUp = performance.now() + 4_000
  for (let left = times, before = last(); left > 0 && isRunning() && performance.now() < giveUp; ) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    const now = last()
    if (now !== before) left--
    before = now
  }
}
