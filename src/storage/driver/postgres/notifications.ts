import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { connectMs, withVerifiedTls } from './pool.js'

const shortestPauseMs = 500
const longestPauseMs = 30_000

/**
 * Listens for notifications of other processes on a separate connection, opened for the first listener. While the
 * connection is lost, notifications are missed; once it is back, every listener is called.
 */
export class Notifications {
  readonly #url: string
  readonly #schema: string
  /** Listeners with their topics. */
  readonly #wakes = new Map<() => void, string>()
  #client: Client | undefined
  #isOpening = false

  constructor(url: string, schema: string) {
    this.#url = url
    this.#schema = schema
  }

  /** Calls `wake` for each notification of a topic (default: accepted jobs); returns a function that stops this. */
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
      // This pause does not keep the process alive.
      await pause(ms, undefined, { ref: false })
    }
    this.#isOpening = false
  }

  async #connect(): Promise<boolean> {
    const { Client: PgClient } = await import('pg')
    const client = new PgClient({
      connectionString: withVerifiedTls(this.#url),
      application_name: 'prospect',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    })
    client.on('error', () => {})
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ payload }) => this.#notify(payload))
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
    this.#notify()
    return true
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    void this.#open()
  }

  #notify(payload?: string): void {
    for (const [wake, topic] of this.#wakes) if (payload === undefined || payload === topic) wake()
  }
}
