import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { PreparedCompany } from '../records/headcount.js'
import type { CompanyKeys } from '../records/match-company.js'
import type { PreparedRecord } from './prepare.js'

/**
 * Open data that fills a table of no or few companies, in one transaction (decision 15). The indexes are made
 * at its end, by sorting. Until then a filter knows the keys of what is there: a company that has
 * none of them is new, and whoever may be known already waits for the indexes. A load that fails or is killed has changed
 * nothing.
 */
export class FirstLoad {
  readonly #keys = new KeyFilter()
  /** From then on everything is looked up. */
  hasIndexes = false
  /** Whether nothing is left to take. */
  isComplete = false

  private constructor(
    readonly connection: Connection,
    private readonly indexes: readonly string[],
    private readonly finish: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>,
    private readonly committed: Promise<void>,
  ) {}

  /** Begins a load; returns `undefined` where there are more than so many companies, or where other machines share the database. */
  static async begin(driver: Driver, most: number): Promise<FirstLoad | undefined> {
    const { dropIndexes } = dialectOf(driver).load
    const isFew = async (connection: Connection) =>
      (await connection.get('SELECT key FROM companies LIMIT 1 OFFSET ?', most)) === undefined
    if (!dropIndexes || !(await driver.read(isFew))) return undefined
    const begun = Promise.withResolvers<FirstLoad | undefined>()
    const finish = Promise.withResolvers<void>()
    let starts = 0
    const committed: Promise<void> = driver.transaction(async (connection) => {
      if (++starts > 1) throw new Error('A first load cannot run twice')
      if (!(await isFew(connection))) return begun.resolve(undefined)
      const indexes = await dropIndexes(connection, 'companies')
      await connection.exec(createLater)
      const load = new FirstLoad(connection, indexes, finish, committed)
      await load.#addStored()
      begun.resolve(load)
      await finish.promise
    })
    committed.catch(begun.reject)
    return begun.promise
  }

  async #addStored(): Promise<void> {
    for (let after = 0; ; ) {
      const rows = await this.connection.all<CompanyKeys & { readonly key: number }>(readKeys, after, 1_000)
      for (const { domain, network_id, slug } of rows) {
        if (domain !== null) this.#keys.add(`d${domain}`)
        if (network_id !== null) this.#keys.add(`i${network_id}`)
        if (slug !== null) this.#keys.add(`s${slug}`)
      }
      if (rows.length < 1_000) break
      after = rows.at(-1)?.key ?? after
    }
  }

  /** Returns the records that are certainly new, and keeps the others for later. */
  async takeNew(records: readonly PreparedRecord[]): Promise<PreparedRecord[]> {
    const added: PreparedRecord[] = []
    for (const one of records)
      if (this.#isNew(one.record as PreparedCompany)) added.push(one)
      else await this.connection.run(keepLater, JSON.stringify(one))
    return added
  }

  #isNew({ row, profiles, isNamed }: PreparedCompany): boolean {
    let isKnown = isNamed
    if (row.domain !== null) isKnown = this.#keys.add(`d${row.domain}`) || isKnown
    for (const { id, slug } of profiles)
      isKnown = this.#keys.add(id === undefined ? `s${slug}` : `i${id}`) || isKnown
    return !isKnown
  }

  /** Makes the indexes, and returns the records that were kept for later, some at a time. */
  async *takeLater(size: number): AsyncGenerator<PreparedRecord[]> {
    for (const sql of this.indexes) await this.connection.exec(sql)
    this.hasIndexes = true
    for (let after = 0; ; ) {
      const rows = await this.connection.all<{ key: number; record: string }>(readLater, after, size)
      if (rows.length > 0) yield rows.map(({ record }) => JSON.parse(record) as PreparedRecord)
      if (rows.length < size) break
      after = rows.at(-1)?.key ?? after
    }
    await this.connection.exec('DROP TABLE temp.later')
    this.isComplete = true
  }

  async commit(): Promise<void> {
    this.finish.resolve()
    await this.committed
  }

  async rollback(error: unknown): Promise<void> {
    this.finish.reject(error)
    await this.committed.catch(() => {})
  }
}

const readKeys = 'SELECT key, domain, network_id, slug FROM companies WHERE key > ? ORDER BY key LIMIT ?'
const createLater = 'CREATE TEMP TABLE later (key INTEGER PRIMARY KEY, record TEXT NOT NULL)'
const keepLater = 'INSERT INTO temp.later (record) VALUES (?)'
const readLater = 'SELECT key, record FROM temp.later WHERE key > ? ORDER BY key LIMIT ?'

const filterBits = 29
const bitsPerKey = 5

/** Tells whether a key may have been added (a Bloom filter): of 20 million companies, one in a thousand wrongly. */
class KeyFilter {
  // 64 MB; pages that no key falls on take no memory.
  readonly #bits = new Uint32Array(2 ** (filterBits - 5))

  /** Adds a key; returns whether it may have been there. */
  add(key: string): boolean {
    let [one, other] = [0x811c9dc5, 0x9747b28c]
    for (let at = 0; at < key.length; at++) {
      const code = key.charCodeAt(at)
      one = Math.imul(one ^ code, 0x01000193)
      other = Math.imul(other ^ code, 0x5bd1e995)
      other ^= other >>> 15
    }
    one ^= one >>> 16
    let isThere = true
    for (let each = 0; each < bitsPerKey; each++) {
      const place = (one + Math.imul(each, other | 1)) >>> (32 - filterBits)
      const [word, bit] = [place >>> 5, 1 << (place & 31)]
      const before = this.#bits[word] ?? 0
      if ((before & bit) !== 0) continue
      isThere = false
      this.#bits[word] = before | bit
    }
    return isThere
  }
}
