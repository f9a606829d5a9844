import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { type CommandResult, type Given, machine } from '../../support/command.js'

/** The fields of a ledger movement that the tests read. */
interface Movement {
  readonly operation: string | null
  readonly change: number
}

/** A run as `runs list --json` prints it. */
export interface Listed {
  readonly id: string
  readonly status: string
  readonly rows: number
  readonly done: number
  readonly credits: number
}

/** A row of an output. */
export type OutputRow = Readonly<Record<string, string>>

/** A machine whose local engine knows companies and charges for them. */
export interface Paying {
  readonly home: string
  run(...argv: string[]): Promise<CommandResult>
  /** Runs a command with an environment or stdin. */
  runWith(given: Given, ...argv: string[]): Promise<CommandResult>
  /** Enriches `in.csv` into `out.csv`. */
  enrich(...more: string[]): Promise<CommandResult>
  json<T>(...argv: string[]): Promise<T>
  write(name: string, text: string): void
  read(name: string): string
  rows(name: string): OutputRow[]
  /** The runs on record, newest first. */
  runs(): Promise<readonly Listed[]>
  /** Returns the amount of each charge in the engine's ledger. */
  charges(): Promise<readonly number[]>
  remove(): void
}

/** A domain that the engine knows. */
export const known = (at: number): string => `company-${at}.example`

/** A file of `count` known companies, starting at number `from`. */
export const csvOf = (count: number, from = 0): string =>
  csv(Array.from({ length: count }, (_, at) => known(from + at)))

/** A file with these domains. */
export const csv = (domains: readonly string[]): string => `Website\n${domains.join('\n')}\n`

/** Creates an engine with known companies and credits. Each machine gets a copy of it. */
export async function machines(companies: number, credits: number) {
  const first = machine()
  writeFileSync(join(first.home, 'catalogue.csv'), csvOf(companies))
  await first.json('data', 'import', 'companies', 'catalogue.csv')
  await first.json('engine', 'credits', 'set', String(credits))
  return { copy: () => copyOf(first.home), remove: first.remove }
}

function copyOf(filled: string): Paying {
  const { home, run, json, remove } = machine()
  cpSync(filled, home, { recursive: true })
  const read = (name: string) => readFileSync(join(home, name), 'utf8')
  return {
    home,
    read,
    write: (name, text) => writeFileSync(join(home, name), text),
    json,
    remove,
    run: (...argv) => run(argv),
    runWith: (given, ...argv) => run(argv, given),
    enrich: (...more) => run(['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', ...more]),
    rows: (name) => parse(read(name), { columns: true }) as OutputRow[],
    runs: () => json('runs', 'list'),
    charges: async () => {
      const movements = await json<Movement[]>('engine', 'ledger')
      return movements.filter(({ operation }) => operation !== null).map(({ change }) => -change)
    },
  }
}

/** Returns the sum of the `_credits` of rows. */
export const paid = (rows: readonly OutputRow[]): number =>
  rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)
