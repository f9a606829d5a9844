import { crmKindOfRecords } from '../../runs/output/crm-kind.js'
import { crmColumns } from '../../runs/output/crm-layout.js'
import type { Row } from './records.js'

/**
 * Returns the columns that a system's import expects, and what makes a row of them of a record. `fields` are the dotted names
 * of all records. Throws a Refusal where the records are no companies or people.
 */
export function crmRows(crm: string, fields: readonly string[]) {
  const { names, cells } = crmColumns(crm, crmKindOfRecords(fields))
  const toRow = (record: Row): Row =>
    Object.fromEntries(cells(record).map((cell, at) => [names[at] ?? '', cell]))
  return { names, toRow }
}
