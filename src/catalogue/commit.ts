import type { Clock, Ids } from '../engine/ports.js'
import type { Connection, Driver } from '../storage/driver.js'
import type { Kind } from './kind.js'
import type { Importers, Load } from './load.js'
import type { Prepared } from './preparers.js'
import type { Records } from './reading.js'
import { newTally, reject, type Tally } from './report.js'
import { Unreadable } from './values.js'
import { writers } from './writers.js'
import { beginWriting, type Writing, type Written } from './writing.js'

/** What writing records works with. */
export interface CommitPorts {
  readonly driver: Driver
  readonly clock: Clock
  readonly ids: Ids
  readonly importers: Importers
}

/** How long one transaction writes, so that no other process waits for an import, in milliseconds. */
const transactionMs = 80

type Write = (writing: Writing, record: Prepared[Kind]) => Written

/** Writes records in transactions that are short, within a load if there is one; the tally counts what is committed. */
export async function commit(
  kind: Kind,
  records: Records,
  tally: Tally,
  ports: CommitPorts,
  load: Load | undefined,
): Promise<void> {
  // A record is of the kind that was asked for.
  const write = writers[kind] as Write
  for (let from = 0; from < records.length; ) {
    const start = from
    const { written, done } = await ports.driver.transaction((connection) =>
      writeSome(connection, write, records, start, ports, load),
    )
    tally.added += done.added
    tally.updated += done.updated
    tally.companies += done.companies
    for (const rejected of done.rejected) reject(tally, rejected)
    from += written
  }
}

/** Writes records until the time is up; a transaction may be run again, so it counts for itself. */
function writeSome(
  connection: Connection,
  write: Write,
  records: Records,
  from: number,
  { clock, ids, importers }: CommitPorts,
  load: Load | undefined,
): { written: number; done: Tally } {
  const writing = beginWriting(connection, ids, load)
  load?.enter(writing.statements, load === importers.last)
  importers.last = load
  const done = newTally()
  const until = clock.now() + transactionMs
  let written = 0
  for (let next = records.at(from); next; next = records.at(from + written)) {
    const { line, record } = next
    try {
      done[write(writing, record)] += 1
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      reject(done, { line, reason: error.message })
    }
    written += 1
    if (clock.now() >= until) break
  }
  done.companies = writing.companies
  return { written, done }
}
