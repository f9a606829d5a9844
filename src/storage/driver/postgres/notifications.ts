import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { connectMs, strictly } from './pool.js'

const shortestPauseMs = 500
const longestPauseMs = 30_000

/**
 * Hears what other processes tell through the database, on a connection of its own that is opened for the first who
 * listens. While it is lost nothing is heard; once it is back everybody is called, for what may have come meanwhile.
 */
export class Bell {
  readonly #url: string
  readonly #schema: string
  /** Who listens, and for what. */
  readonly #wakes = new Map<() => void, string>()
  #client: Client | undefined
  #isOpening = false

  constructor(url: string, schema: string) {
    this.#url = url
    this.#schema = schema
  }

  /** Calls at what is told of a topic, or without one of accepted work; answers what ends it. */
  listen(wake: () => void, topic?: string): () => void {
    this.#wakes.set(wake, topic === undefined ? this.#schema : `${this.#schema} ${topic}`)
    void this.#open()
    return () => {
      this.#wakes.delete(wake)
      if (this.#wakes.size === 0) this.end()
    }
  }

  end(): void {
    this.#wakes.clear()
    this.#client?.end().catch(() => {})
    this.#client = undefined
  }

  async #open(): Promise<void> {
    if (this.#isOpening || this.#client) return
    this.#isOpening = true
    for (let ms = shortestPauseMs; this.#wakes.size > 0; ms = Math.min(longestPauseMs, 2 * ms)) {
      if (await this.#connect()) break
      // Nobody waits for a process that has nothing else to do.
      await pause(ms, undefined, { ref: false })
    }
    this.#isOpening = false
  }

  async #connect(): Promise<boolean> {
    const { Client: PgClient } = await import('pg')
    const client = new PgClient({
      connectionString: strictly(this.#url),
      application_name: 'prospect',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    })
    client.on('error', () => {})
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ payload }) => this.#ring(payload))
    try {
      await client.connect()
      await client.query('LISTEN prospect_work')
    } catch {
      await client.end().catch(() => {})
      return false
    }
    if (this.#wakes.size === 0) {
      await client.end().catch(() => {})
      return true
    }
    ;(client as Client & { unref(): void }).unref()
    this.#client = client
    this.#ring()
    return true
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    void this.#open()
  }

  #ring(told?: string): void {
    for (const [wake, topic] of this.#wakes) if (told === undefined || told === topic) wake()
  }
}
