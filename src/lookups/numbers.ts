import Database from 'better-sqlite3'

const cacheKb = 16_384

/** Opens an empty map of numbers in a temporary file without a name, which is gone when closed. */
export function openNumbers() {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec('CREATE TABLE numbers (number INTEGER PRIMARY KEY, value INTEGER) WITHOUT ROWID; BEGIN')
  const insert = database.prepare('INSERT INTO numbers VALUES (?, ?) ON CONFLICT DO NOTHING')
  const select = database.prepare<[number], number>('SELECT value FROM numbers WHERE number = ?').pluck()
  return {
    /** Adds a number, which keeps its first value. Returns whether it is new. */
    add: (number: number, value = 0) => insert.run(number, value).changes === 1,
    get: (number: number) => select.get(number),
    close: () => void database.close(),
  }
}

const recentMost = 16_384

/** A map of numbers that keep their first value: the newest in memory, the others in a temporary file. */
export class NumberMap {
  #open: ReturnType<typeof openNumbers> | undefined
  readonly #recent = new Map<number, number>()

  add(number: number, value: number): void {
    this.#recent.set(number, value)
    if (this.#recent.size < recentMost) return
    this.#open ??= openNumbers()
    // In their order, neighbours are on the same page.
    for (const entry of [...this.#recent].sort(([one], [other]) => one - other)) this.#open.add(...entry)
    this.#recent.clear()
  }

  get(number: number): number | undefined {
    return this.#recent.get(number) ?? this.#open?.get(number)
  }

  close(): void {
    this.#recent.clear()
    this.#open?.close()
    this.#open = undefined
  }
}
