import type { QueryResult } from 'pg'

/** Asks for the server's time, in milliseconds since 1970. */
export const timeSql = 'SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now'

/** How often it is asked for, and when any newer measurement is better than the one there is. */
const freshMs = 1_000
const staleMs = 10_000

/**
 * How far the server's clock is ahead of this machine's. All who share the server go by its clock, so that no window is
 * longer and no lease older for one of them. It is asked along with the reads there are anyway.
 */
export class ServerClock {
  readonly #now: () => number
  #aheadMs = 0
  /** In the time of a clock that is never set. */
  #askedAt = Number.NEGATIVE_INFINITY
  #measuredAt = Number.NEGATIVE_INFINITY
  #tookMs = Number.POSITIVE_INFINITY
  constructor(now: () => number) {
    this.#now = now
  }

  aheadMs(): number {
    return this.#aheadMs
  }

  /** Who takes the answer, if the time is to be asked for now. */
  ask(): ((result: QueryResult | readonly QueryResult[]) => void) | undefined {
    const steady = performance.now()
    if (steady - this.#askedAt < freshMs) return undefined
    this.#askedAt = steady
    const clock = this.#now()
    return (result) => {
      const answer = [result].flat().at(-1)?.rows[0]?.now
      if (typeof answer === 'number') this.#take(answer, clock, steady)
    }
  }

  /** The longer an answer took, the less is known of when it was true. */
  #take(answer: number, clock: number, steady: number): void {
    const tookMs = performance.now() - steady
    if (tookMs > 2 * this.#tookMs && steady - this.#measuredAt < staleMs) return
    this.#aheadMs = Math.round(answer - (clock + tookMs / 2))
    this.#tookMs = tookMs
    this.#measuredAt = steady
  }
}
