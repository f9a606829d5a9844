import { createHash } from 'node:crypto'
import type { Clock, Ids } from '../../src/api/ports/ports.js'
import type { Fields } from '../../src/api/values/objects.js'
import { type Catalogue, openCatalogue } from '../../src/catalogue/catalogue.js'
import { kinds, type RecordKind } from '../../src/catalogue/kinds/kind.js'
import { readSample } from '../../src/catalogue/sample/sample.js'
import { openShared } from '../../src/storage/database/open.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { emptyTables, freshSchema } from '../support/postgres.js'

/** A clock that stands still. */
export const stillClock: Clock = { now: () => Date.parse('2026-03-10T12:00:00Z') }

/** Ids that are the same in every run. */
export function countedIds(): Ids {
  let count = 0
  const digest = () => createHash('sha256').update(String(count++)).digest()
  return {
    uuid: () =>
      digest()
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5'),
    bytes: (size) => new Uint8Array(digest().subarray(0, size)),
  }
}

/** An empty catalogue: in memory, or in the PostgreSQL that a file of tests asks for. */
export async function openEmpty(driver?: Driver, clock = stillClock): Promise<Catalogue> {
  const ports = { clock, ids: countedIds() }
  if (driver) return await openCatalogue(driver, ports)
  if (process.env[inPostgres] === undefined) return await openCatalogue(openSqlite(':memory:'), ports)
  const shared = emptied.pop() ?? (await openShared((await freshSchema()).url))
  const close = async () => {
    await shared.transaction((connection) => connection.exec(emptyTables()))
    emptied.push(shared)
  }
  return await openCatalogue({ ...shared, close }, ports)
}

/** Databases that no catalogue is in any more: the next finds its tables made and its connections open. */
const emptied: Driver[] = []

/** Where a file of tests says that catalogues are kept in PostgreSQL. */
export const inPostgres = 'PROSPECT_TEST_CATALOGUE'

/** Loads a part of the sample: 30 companies, with what is theirs. */
export async function loadPart(catalogue: Catalogue): Promise<void> {
  const { companies, people, jobs, posts } = readSample(stillClock.now())
  const some = companies.slice(0, 30)
  const domains = new Set(some.map(({ domain }) => domain))
  const isTheirs = ({ company_domain }: Fields) => domains.has(company_domain)
  const part = { companies: some, people: people.filter(isTheirs), jobs: jobs.filter(isTheirs), posts }
  for (const kind of kinds) await catalogue.importRecords(kind, part[kind], 'sample')
}

/** A catalogue with these companies, and what else it has. */
export async function openWith(
  companies: readonly Fields[],
  others: Partial<Record<RecordKind, readonly Fields[]>> = {},
): Promise<Catalogue> {
  const catalogue = await openEmpty()
  const all = { companies, ...others }
  for (const kind of kinds) {
    const records = all[kind]
    const rejected = records && (await catalogue.importRecords(kind, records)).rejected
    if (rejected?.length) throw new Error(JSON.stringify(rejected))
  }
  return catalogue
}

/** Text as a stream of bytes, in pieces of a size that cuts through characters. */
export async function* bytesOf(text: string | Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** All records of a kind. */
export async function exported(catalogue: Catalogue, kind: RecordKind): Promise<Fields[]> {
  const records: Fields[] = []
  for await (const record of catalogue.exportRecords(kind)) records.push(record)
  return records
}

/** A text that cannot be written shorter; three bytes a letter. */
export const longText = (letters: number): string =>
  Array.from({ length: letters }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7_919) % 20_000))).join('')
