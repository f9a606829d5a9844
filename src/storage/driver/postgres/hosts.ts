import { setTimeout as pause } from 'node:timers/promises'
import type { Client, ClientConfig, Pool, PoolClient } from 'pg'
import { type Attribute, readAddress } from '../address.js'
import { fromPostgresError, leftBehind, NoHost, otherHost } from './errors.js'

/** What a server is now. */
interface ServerState {
  readonly standby: boolean
  readonly readOnly: boolean
  /** Each promotion begins a new one, with a higher number. 0 of a standby. */
  readonly timeline: number
}

interface Found extends ServerState {
  readonly at: number
  /** Whether it is what is wanted, not only what there is. */
  readonly isWanted: boolean
}

const stateSql = `
SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') = 'on' AS "readOnly",
  CASE WHEN pg_is_in_recovery() THEN 0
    ELSE CAST(CAST('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS bit(32)) AS INT) END AS timeline`

/** How long one of several servers may take to answer, and how long others are waited for once the wanted one has. */
const probeMs = 2_000
const graceMs = 250
/** How long a transaction lasts before it is asked whether another server has taken over, and how often that is asked. */
const patienceMs = 2_000
const lookMs = 500

const fits: Readonly<Record<Attribute, (state: ServerState) => boolean>> = {
  any: () => true,
  'read-write': ({ standby, readOnly }) => !standby && !readOnly,
  'read-only': ({ standby, readOnly }) => standby || readOnly,
  primary: ({ standby }) => !standby,
  standby: ({ standby }) => standby,
  'prefer-standby': ({ standby }) => standby,
}

/** Whose wish another server may stand in for: it answers what reads, and says of itself why it does not write. */
const mayStandIn = (wants: Attribute): boolean => wants !== 'standby' && wants !== 'read-only'

/** Asks each server of an address what it is now; an error in place of one that does not answer. */
export async function listHosts(
  url: string,
): Promise<readonly { name: string; found: ServerState | Error }[]> {
  const pg = await import('pg')
  const { urls, names } = readAddress(url)
  const ask = async (one: string, at: number) => ({
    name: names[at] ?? '',
    found: await askServer(pg, one).catch((error: unknown) => fromPostgresError(error) as Error),
  })
  return Promise.all(urls.map(ask))
}

interface Connected {
  readonly at: number
  /** Whether its transactions may write, so that it is not known what became of one whose commit is cut off. */
  readonly writes: boolean
  /** When its transaction began; `undefined` between transactions. */
  since: number | undefined
}

/**
 * The servers of an address. With one it only makes connections. Among several it finds the one that is wanted, follows it
 * after a failover, and cuts connections to the one before, which may be frozen and would not say that they are over. A
 * primary that others have been promoted past is not used: what it says was confirmed is not what the others have.
 */
export class Hosts {
  readonly #urls: readonly string[]
  readonly #wants: Attribute
  #using: Found | undefined
  #finding: Promise<void> | undefined
  #newest = 0
  /** Searches that have begun, and the latest of them that led to the server in use. */
  #searches = 0
  #usedSearch = 0
  #timer: NodeJS.Timeout | undefined
  readonly #connected = new Map<Client, Connected>()

  private constructor(
    private readonly pg: typeof import('pg'),
    url: string,
  ) {
    const { urls, wants } = readAddress(url)
    this.#urls = urls
    this.#wants = wants
  }

  static async open(url: string): Promise<Hosts> {
    return new Hosts(await import('pg'), url)
  }

  get #isOne(): boolean {
    return this.#urls.length === 1
  }

  /** Makes a connection that is not open yet, to the server in use. */
  async client(config: ClientConfig): Promise<Client> {
    await this.#find()
    return this.#make(config)
  }

  /** Makes a pool of connections, on which there may be writes; none is opened yet. */
  pool(config: ConstructorParameters<typeof Pool>[0], writes: boolean): Pool {
    const { Pool: PgPool } = this.pg
    const make = (own: ClientConfig) => this.#make(own, writes)
    // The pool calls it with `new`, and gets what it returns.
    const Made = function made(own: ClientConfig) {
      return make(own)
    }
    const verify = (client: PoolClient, done: (error?: Error) => void) =>
      void this.#verify(client).then(() => done(), done)
    const pool = new PgPool({
      ...config,
      Client: Made as unknown as typeof Client,
      ...(this.#isOne ? {} : { verify }),
    } as ConstructorParameters<typeof Pool>[0])
    if (this.#isOne) return pool
    pool.on('error', () => this.#suspect())
    pool.on('acquire', (client) => this.#note(client, performance.now()))
    pool.on('release', (error, client) => {
      this.#note(client, undefined)
      if (error) this.#suspect()
    })
    pool.on('remove', (client) => this.#connected.delete(client as unknown as Client))
    return pool
  }

  /** Takes a connection of a pool, to the server that is wanted where it can be found. */
  async connect(pool: Pool): Promise<PoolClient> {
    await this.#find()
    try {
      return await pool.connect()
    } catch (error) {
      this.#suspect()
      throw error
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #note(client: PoolClient, since: number | undefined): void {
    const connected = this.#connected.get(client as unknown as Client)
    if (connected) connected.since = since
  }

  #make(config: ClientConfig, writes = false): Client {
    const at = this.#using?.at ?? 0
    const patience = this.#isOne ? {} : { connectionTimeoutMillis: probeMs }
    const made = new this.pg.Client({ ...config, ...patience, connectionString: this.#urls[at] })
    // One that lacks a password stays open otherwise, and the program with it, until the server has waited for a minute.
    connectionOf(made).once('error', () => cut(made))
    if (this.#isOne) return made
    this.#connected.set(made, { at, writes, since: undefined })
    made.once('end', () => this.#connected.delete(made))
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref()
    return made
  }

  /** The server is asked again, by whoever needs a connection next. */
  #suspect(): void {
    this.#using = undefined
  }

  async #find(): Promise<void> {
    if (this.#isOne || this.#using) return
    this.#finding ??= this.#searchAndUse().finally(() => {
      this.#finding = undefined
    })
    await this.#finding
  }

  /** A search that began before the one that led to the server in use says nothing newer. */
  async #searchAndUse(): Promise<void> {
    this.#searches++
    const begun = this.#searches
    const found = await this.#search()
    if (begun < this.#usedSearch && this.#using) return
    this.#usedSearch = Math.max(begun, this.#usedSearch)
    this.#using = found
    // One that only stands in says nothing of the one before, which may be slow, and about to answer a commit.
    for (const [client, { at, writes, since }] of this.#connected)
      if (at !== found.at && (found.isWanted || !writes || since === undefined)) cut(client)
  }

  /**
   * Looks for the wanted server while another stands in for it, or a transaction takes as long as on a frozen one. A look does
   * not wait for the one before, which waits for a frozen server and has asked the others before one of them was promoted.
   */
  #look(): void {
    const before = performance.now() - patienceMs
    const isLate = [...this.#connected.values()].some(({ since }) => since !== undefined && since < before)
    if (isLate || this.#using?.isWanted === false) this.#searchAndUse().catch(() => {})
  }

  /** Asks all servers at once, because one that is frozen takes its time. */
  async #search(): Promise<Found> {
    const found: Found[] = []
    const errors: unknown[] = []
    const wanted = Promise.withResolvers<void>()
    const ask = async (url: string, at: number) => {
      try {
        const state = await askServer(this.pg, url)
        const isWanted = fits[this.#wants](state) && !this.#isLeftBehind(state)
        if (isWanted || mayStandIn(this.#wants)) found.push({ ...state, at, isWanted })
        else errors[at] = otherHost()
        if (isWanted) wanted.resolve()
      } catch (error) {
        errors[at] = error
      }
    }
    const all = Promise.all(this.#urls.map(ask))
    await Promise.race([all, wanted.promise.then(() => pause(graceMs))])
    for (const { timeline } of found) this.#newest = Math.max(this.#newest, timeline)
    const usable = found.filter((one) => !this.#isLeftBehind(one))
    const [best] = usable.sort(
      (one, other) =>
        Number(other.isWanted) - Number(one.isWanted) || other.timeline - one.timeline || one.at - other.at,
    )
    if (best) return best
    throw found.length > 0 ? leftBehind() : new NoHost(errors.filter((error) => error !== undefined))
  }

  #isLeftBehind = ({ standby, timeline }: ServerState): boolean => !standby && timeline < this.#newest

  /** Rejects where a server is no longer what it was when it was chosen. */
  async #verify(client: PoolClient): Promise<void> {
    const late = setTimeout(() => cut(client as unknown as Client), probeMs).unref()
    try {
      const state = await stateOf(client as unknown as Client)
      const using = this.#using
      const at = this.#connected.get(client as unknown as Client)?.at
      if (using?.at === at && state.standby === using?.standby && state.timeline >= using.timeline) return
    } finally {
      clearTimeout(late)
    }
    this.#suspect()
    throw otherHost()
  }
}

async function askServer(pg: typeof import('pg'), url: string): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'prospect',
    connectionTimeoutMillis: probeMs,
    query_timeout: probeMs,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const state = await stateOf(client)
    void client.end().catch(() => {})
    return state
  } catch (error) {
    // What does not answer would not say goodbye either.
    cut(client)
    throw error
  }
}

async function stateOf(client: Client): Promise<ServerState> {
  const { rows } = await client.query<ServerState>({ text: stateSql, types: plainTypes })
  return rows[0] as ServerState
}

const plainTypes = {
  getTypeParser: (oid: number) => (text: string) => (oid === 16 ? text === 't' : Number(text)),
} as unknown as NonNullable<ClientConfig['types']>

/** Ends a connection at once: whatever waits for an answer on it fails as on one that was lost. */
const cut = (client: Client): void => void connectionOf(client).stream.destroy()

interface Connection extends NodeJS.EventEmitter {
  readonly stream: { destroy(): void }
}

const connectionOf = (client: Client): Connection =>
  (client as Client & { readonly connection: Connection }).connection
