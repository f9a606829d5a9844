/** Rows of attempts at one url at a time, so that a slow receiver does not take all places. */
const rowsPerUrl = 4

/** How busy the urls are that deliveries go to. One that was slow takes one row at a time until it is quick again. */
export class Urls {
  readonly #slowMs: number
  readonly #rows = new Map<string, number>()
  readonly #slow = new Set<string>()

  constructor(slowMs: number) {
    this.#slowMs = slowMs
  }

  /** Those that take nothing more for now. */
  busy(): string[] {
    const isBusy = ([url, rows]: [string, number]) => rows >= (this.#slow.has(url) ? 1 : rowsPerUrl)
    return [...this.#rows].filter(isBusy).map(([url]) => url)
  }

  /** Sends something to a url. */
  async during(url: string, send: () => Promise<void>): Promise<void> {
    this.#count(url, 1)
    const late = setTimeout(() => this.#slow.add(url), this.#slowMs)
    const began = performance.now()
    try {
      await send()
    } finally {
      clearTimeout(late)
      if (performance.now() - began < this.#slowMs) this.#slow.delete(url)
      this.#count(url, -1)
    }
  }

  #count(url: string, change: number): void {
    const rows = (this.#rows.get(url) ?? 0) + change
    if (rows > 0) this.#rows.set(url, rows)
    else this.#rows.delete(url)
  }
}
