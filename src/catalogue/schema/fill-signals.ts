import type { Connection } from '../../storage/driver/connection.js'
import { writeGrowth } from '../records/headcount.js'
import { jobColumns, jobValues, type StoredJob } from '../records/jobs.js'
import { done } from '../write/sync-steps.js'

/** Rows read at a time: few enough to be held at once. */
const portion = 1_000

const companies = `SELECT DISTINCT company AS key FROM headcount_history WHERE company > ? ORDER BY company LIMIT ${portion}`
const jobs = `SELECT key, record FROM jobs WHERE key > ? ORDER BY key LIMIT ${portion}`
const updateJob = `UPDATE jobs SET ${jobColumns.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`

/** Fills what signals are found by, in a catalogue that was made before they were. */
export async function fillSignals(connection: Connection): Promise<void> {
  await forEach<{ key: number }>(connection, companies, async ({ key }) => done(writeGrowth(connection, key)))
  await forEach<{ key: number; record: string }>(connection, jobs, async ({ key, record }) => {
    await connection.run(updateJob, ...jobValues(JSON.parse(record) as StoredJob), key)
  })
}

async function forEach<T extends { readonly key: number }>(
  connection: Connection,
  next: string,
  fill: (row: T) => Promise<void>,
): Promise<void> {
  for (let last = 0; ; ) {
    const rows = await connection.all<T>(next, last)
    for (const row of rows) await fill(row)
    const end = rows.at(-1)
    if (!end) return
    last = end.key
  }
}
