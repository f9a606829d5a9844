import type { Ids } from '../../api/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { findSet } from '../open-data/sets.js'
import { prepareCompany } from '../records/headcount.js'
import type { StoredAccount } from '../records/match-company.js'
import {
  countSources,
  joinStatements,
  readStatements,
  type Statement,
  writeStatements,
} from '../records/sources.js'
import { type KnownCompany, writeCompanies } from '../records/write-company.js'

/** How many companies only open data was about, and how many stay because others say something of them, too. */
export interface SourceRemoval {
  readonly removed: number
  readonly kept: number
}

/** Companies that are read at once. */
const portion = 1_000
const columns = 'key, domain, network_id, slug, name, country, source, record'

/**
 * Removes what a set of open data says, of all its snapshots, in short transactions: one that was killed goes on when it is
 * started again. A company of which others say something stays with that; one where people or jobs are stays with its name,
 * domain and profile.
 */
export async function forgetSource(
  driver: Driver,
  ids: Pick<Ids, 'uuid'>,
  name: string,
  now: number,
  isDryRun: boolean,
  onProgress?: (done: number) => void,
): Promise<SourceRemoval> {
  const sources = await driver.read((connection) =>
    connection.all<{ key: number }>('SELECT key FROM sources WHERE name = ?', name),
  )
  const total = { removed: 0, kept: 0 }
  // Throws for a name that nothing was ever imported under.
  if (sources.length === 0) findSet(name)
  const keys = new Set(sources.map(({ key }) => key))
  for (let after = 0; keys.size > 0; ) {
    const work = (connection: Connection) => forgetPortion(connection, ids, keys, after, isDryRun)
    const { removed, kept, last } = await (isDryRun ? driver.read(work) : driver.transaction(work))
    total.removed += removed
    total.kept += kept
    onProgress?.(total.removed + total.kept)
    if (last === undefined) break
    after = last
  }
  if (!isDryRun && keys.size > 0)
    await driver.transaction(async (connection) => {
      await connection.run('DELETE FROM sources WHERE name = ?', name)
      const update = `UPDATE origins SET companies = companies - ?, imported_at = ? WHERE origin = 'own'`
      await connection.run(update, total.removed, now)
    })
  return total
}

const isIn = 'IN (SELECT atom FROM json_each(?))'

async function forgetPortion(
  connection: Connection,
  ids: Pick<Ids, 'uuid'>,
  sources: ReadonlySet<number>,
  after: number,
  isDryRun: boolean,
) {
  // Those where it is the only one, or the first; and those that it only adds to.
  const rows = await connection.all<KnownCompany>(
    `SELECT ${columns} FROM companies WHERE key > ? AND (source ${isIn}
      OR key IN (SELECT company FROM company_statements WHERE company > ?
        ORDER BY company LIMIT ${portion})) ORDER BY key LIMIT ${portion}`,
    after,
    JSON.stringify([...sources]),
    after,
  )
  const statements = await readStatements(
    connection,
    rows.map(({ key }) => key),
  )
  const isOf = ([source]: Statement) => source !== null && sources.has(source)
  const concerned = rows.filter(
    ({ key, source }) => statements.get(key)?.some(isOf) ?? (source !== null && sources.has(source)),
  )
  const named = await findNamed(connection, concerned)
  const gone: KnownCompany[] = []
  const left: { readonly row: KnownCompany; readonly said: readonly Statement[] }[] = []
  for (const row of concerned) {
    const said = statements.get(row.key)?.filter((one) => !isOf(one)) ?? []
    // What a register adds is nothing without a company.
    const isCompany = said.some(([source, { name }]) => source === null || name !== undefined)
    if (isCompany) left.push({ row, said })
    else if (named.has(row.key)) left.push({ row, said: [[null, bareOf(row)]] })
    else gone.push(row)
  }
  const found = { removed: gone.length, kept: left.length, last: rows.at(-1)?.key }
  if (isDryRun || concerned.length === 0) return found
  await deleteCompanies(connection, gone)
  await restoreCompanies(connection, ids, left)
  const counts = new Map<number, number>()
  const goneKeys = new Set(gone.map(({ key }) => key))
  for (const { key, source } of concerned) {
    const all = statements.get(key)?.filter((one) => goneKeys.has(key) || isOf(one))
    for (const from of all?.map(([one]) => one) ?? [source])
      if (from !== null) counts.set(from, (counts.get(from) ?? 0) - 1)
  }
  countSources(connection, counts)
  return found
}

/** Returns the companies where people are, or that jobs are at. */
async function findNamed(
  connection: Connection,
  rows: readonly KnownCompany[],
): Promise<ReadonlySet<number>> {
  const keys = JSON.stringify(rows.map(({ key }) => key))
  const found = await connection.all<{ company: number }>(
    `SELECT company FROM people WHERE company ${isIn} UNION SELECT company FROM jobs WHERE company ${isIn}`,
    keys,
    keys,
  )
  return new Set(found.map(({ company }) => company))
}

/** What a company is known by. */
function bareOf({ record }: KnownCompany) {
  const { name, domain, network_id, network_url } = JSON.parse(record) as StoredAccount
  return { name, domain, network_id, network_url }
}

async function deleteCompanies(connection: Connection, rows: readonly KnownCompany[]): Promise<void> {
  const keys = rows.map(({ key }) => key)
  const list = JSON.stringify(keys)
  for (const table of ['company_technologies', 'headcount_history', 'headcount_growth', 'company_statements'])
    await connection.run(`DELETE FROM ${table} WHERE company ${isIn}`, list)
  await connection.run(`DELETE FROM sample_records WHERE kind = 'companies' AND key ${isIn}`, list)
  await dialectOf(connection).texts.deleteTexts(connection, 'companies', keys)
  await connection.run(`DELETE FROM companies WHERE key ${isIn}`, list)
}

/** Writes companies anew with what others say of them. */
async function restoreCompanies(
  connection: Connection,
  ids: Pick<Ids, 'uuid'>,
  left: readonly { readonly row: KnownCompany; readonly said: readonly Statement[] }[],
): Promise<void> {
  const changes = left.map(({ row: before, said }) => {
    const { id } = JSON.parse(before.record) as StoredAccount
    const company = prepareCompany({ ...joinStatements(said), id }, ids, () => {}, true)
    const source = said.find(([from]) => from !== null)?.[0] ?? null
    return {
      row: { ...company.row, key: before.key, source },
      before,
      hasNewTexts: true,
      isNewRow: true,
      earlierUses: [],
      uses: company.uses,
      history: company.history,
      said: () => ({}),
    }
  })
  await writeCompanies(connection, changes)
  const several = left.filter(({ said }) => said.length > 1)
  await writeStatements(connection, new Map(several.map(({ row, said }) => [row.key, said])))
  const alone = left.filter(({ said }) => said.length === 1).map(({ row }) => row.key)
  await connection.run(`DELETE FROM company_statements WHERE company ${isIn}`, JSON.stringify(alone))
}
