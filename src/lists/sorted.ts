import Database from 'better-sqlite3'

/** Rows that are read at once. */
const portion = 1_000
const cacheKb = 16_384

/** A row that is sorted; `text` is what it says, where it is there. */
export interface SortedRow {
  readonly line: number
  readonly text: string | null
}

type Comparable = number | bigint | string | null

/**
 * Opens a sort of rows by several values, each ascending or descending. They are kept in a temporary file without a name, which is
 * gone when closed. `order` is one in which they were passed on before, by their places: what is new comes behind those.
 */
export function openSorted(descending: readonly boolean[], order: readonly number[] = []) {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  const columns = descending.map((_, at) => `, k${at}`).join('')
  database.exec(
    `CREATE TABLE rows (place INTEGER PRIMARY KEY, was INTEGER, line INTEGER, text TEXT${columns}); BEGIN`,
  )
  const insert = database.prepare(`INSERT INTO rows VALUES (?, ?, ?, ?${', ?'.repeat(descending.length)})`)
  // Numbers come before texts, and what has no value comes last. Equal rows stay in their order.
  const terms = descending.map((isDescending, at) => `k${at} IS NULL, k${at}${isDescending ? ' DESC' : ''}, `)
  const inOrder = `FROM rows ORDER BY was IS NULL, was, ${terms.join('')}place`
  const places = new Map(order.map((place, at) => [place, at]))
  let next = 0
  return {
    /** Takes the next row. One that is not there any more has a place only where it had one before. */
    add({ line, text }: SortedRow, values: readonly Comparable[]): void {
      const place = next++
      const was = places.get(place) ?? null
      if (text !== null || was !== null) insert.run(place, was, line, text, ...values)
    },
    /** Returns the places of all rows in their order. */
    order: (): number[] => database.prepare<[], number>(`SELECT place ${inOrder}`).pluck().all(),
    /** Yields all rows in their order. */
    *rows(): Generator<readonly SortedRow[]> {
      let rows: SortedRow[] = []
      for (const row of database.prepare<[], SortedRow>(`SELECT line, text ${inOrder}`).iterate()) {
        rows.push(row)
        if (rows.length < portion) continue
        yield rows
        rows = []
      }
      if (rows.length > 0) yield rows
    },
    close: () => void database.close(),
  }
}
