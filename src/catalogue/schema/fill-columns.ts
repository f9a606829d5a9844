import type { Connection } from '../../storage/driver/connection.js'
import { textColumns } from '../full-text/text-query.js'
import { companyColumns, companyValues, type StoredAccount } from '../records/company-row.js'
import type { StoredPerson } from '../records/person.js'
import { personColumns, personValues, textsOf } from '../records/person-row.js'

/** Rows read at a time: few enough to be held at once. */
const portion = 1_000

interface Row {
  readonly key: number
  readonly record: string
}

const update = (table: string, columns: readonly string[]): string =>
  `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
const addTexts = `INSERT INTO people_text (${textColumns.people.join(', ')}, rowid)
  VALUES (${textColumns.people.map(() => '?, ').join('')}?)`

/** Fills the columns and texts that searches need from the records of a catalogue that was made before they were. */
export async function fillColumns(connection: Connection): Promise<void> {
  await forEach(connection, 'companies', async ({ key, record }) => {
    const account = JSON.parse(record) as StoredAccount
    await connection.run(update('companies', companyColumns), ...companyValues(account), key)
  })
  await forEach(connection, 'people', async ({ key, record }) => {
    const person = JSON.parse(record) as StoredPerson
    await connection.run(update('people', personColumns), ...personValues(person), key)
    await connection.run(addTexts, ...textsOf(person), key)
  })
}

async function forEach(
  connection: Connection,
  table: 'companies' | 'people',
  fill: (row: Row) => Promise<void>,
): Promise<void> {
  const next = `SELECT key, record FROM ${table} WHERE key > ? ORDER BY key LIMIT ${portion}`
  for (let last = 0; ; ) {
    const rows = await connection.all<Row>(next, last)
    for (const row of rows) await fill(row)
    const end = rows.at(-1)
    if (!end) return
    last = end.key
  }
}
