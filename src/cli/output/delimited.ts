import { lineWriter } from '../../csv/write.js'
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
  const write = lineWriter(delimiters[format], false)
  const lines = rows.map((row) => {
    const flat = flatten(row)
    return write(names.map((name) => toCell(flat[name] ?? valueAt(row, name))))
  })
  return names.length === 0 ? '' : [write(names), ...lines].join('')
}
