import { stringify } from 'csv-stringify/sync'
import { defuse } from '../../csv/formulas.js'
import { toCell } from '../../runs/output/columns.js'
import { flatten, namesOf, type Row, valueAt } from './records.js'

const delimiters = { csv: ',', tsv: '\t' } as const

/** Records as CSV or TSV with a header; nested objects become dotted columns, formulas are defused. */
export function delimited(
  rows: readonly Row[],
  fields: readonly string[] | undefined,
  format: 'csv' | 'tsv',
): string {
  const names = fields ?? namesOf(rows)
  const lines = rows.map((row) => {
    const flat = flatten(row)
    return names.map((name) => defuse(toCell(flat[name] ?? valueAt(row, name))))
  })
  return names.length === 0 ? '' : stringify([names.map(defuse), ...lines], { delimiter: delimiters[format] })
}
