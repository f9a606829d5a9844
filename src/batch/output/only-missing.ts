import { columnNamed } from '../../csv/column-name.js'
import { MappingError } from '../input/errors.js'
import { nearest } from '../input/nearest.js'
import type { ResultColumn } from './columns.js'
import { type Fill, isBlank } from './layout.js'

const option = '--only-missing'

/** Which column of the input `--only-missing FIELD` (or `FIELD=Column`) means, and the result that completes it. */
export function fillOf(text: string, columns: readonly ResultColumn[], header: readonly string[]): Fill {
  const [field = '', ...rest] = text.split('=').map((part) => part.trim())
  const column = columns.find(({ name }) => name === field)
  if (!column) throw unknownField(field, columns)
  const wanted = rest.join('=') || field
  const at = columnNamed(header, wanted)
  if (at < 0) throw unknownColumn(field, wanted, header)
  return { at, column }
}

/** Whether a row has already what is asked for; a row with too many or too few cells is none that could. */
export const isFilled =
  (fill: Fill, header: readonly string[]) =>
  (cells: readonly string[]): boolean =>
    cells.length === header.length && !isBlank(cells[fill.at])

function unknownField(field: string, columns: readonly ResultColumn[]): MappingError {
  const names = columns.map(({ name }) => name)
  const near = nearest(field, names)
  const meant = near === undefined ? `It has: ${names.join(', ')}.` : `Did you mean ${near}?`
  return new MappingError(`${option} names "${field}", which the result does not have. ${meant}`)
}

function unknownColumn(field: string, wanted: string, header: readonly string[]): MappingError {
  const near = nearest(wanted, header)
  const list = header.map((name) => `"${name}"`).join(', ')
  return new MappingError(
    `${option} ${field}: the file has no column "${wanted}". ` +
      (near === undefined ? `It has: ${list}. ` : `Did you mean "${near}"? `) +
      `Say which one it is, for example: ${option} ${field}="${near ?? header.find((name) => name !== '') ?? 'Column'}"`,
  )
}
