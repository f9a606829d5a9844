import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import {
  columnsOf,
  explodedColumns,
  joinedColumns,
  listColumns,
  type Many,
  nodeOf,
  type ResultColumn,
  resultColumns,
} from '../../batch/output/columns.js'
import { unknownField } from '../options/known-fields.js'

/** What the columns of a batch depend on. */
export interface Asked {
  readonly operation: Operation
  readonly shape: Shape
  /** What is the same in every row. */
  readonly constants: Input
}

/** How a reply holds several results; nothing where it is one. */
export function manyOf({ batch }: Pick<Operation, 'batch'>, { output }: Shape): Many | undefined {
  if (batch?.found !== undefined) return { field: batch.found, keyedBy: '' }
  return nodeOf(output).def.type === 'record' ? { field: undefined, keyedBy: 'department' } : undefined
}

/** Every column that a row can have, those first that it has unless `--fields` says otherwise. */
export interface RowColumns {
  readonly usual: readonly ResultColumn[]
  readonly all: readonly ResultColumn[]
}

/** The columns of the results of a batch. */
export function rowColumnsOf(asked: Asked, explode: boolean): RowColumns {
  const { operation, shape } = asked
  const many = manyOf(operation, shape)
  if (many && explode) {
    const columns = explodedColumns(shape.output, many)
    return { usual: columns, all: columns }
  }
  const usual = usualColumns(asked, many)
  const names = new Set(usual.map(({ name }) => name))
  const others = resultColumns(shape.output).filter(({ name }) => !names.has(name))
  return { usual, all: [...usual, ...others] }
}

function usualColumns({ operation, shape, constants }: Asked, many: Many | undefined): ResultColumn[] {
  if (operation.starts === 'waterfall' || operation.id.startsWith('contacts.enrich'))
    return resultColumns(shape.output).filter(({ name }) => isAskedFor(name, constants))
  if (!many) return resultColumns(shape.output)
  if (many.field === undefined) return departmentColumns(shape, constants)
  return operation.batch?.identity === 'number'
    ? joinedColumns(shape.output, many)
    : listColumns(shape.output, many)
}

/** Columns of a waterfall that belong to one type of enrichment. */
const typeOf: Readonly<Record<string, string>> = {
  email: 'email',
  email_status: 'email',
  personal_email: 'personal_email',
  personal_email_status: 'personal_email',
  phone: 'phone',
  phone_details: 'phone',
}

/** Whether a column of a waterfall can hold something: only what was asked for is in the reply. */
function isAskedFor(name: string, constants: Input): boolean {
  if (name === 'custom') return constants.custom !== undefined
  // Rows that found nothing have their status.
  if (name === 'message') return false
  const type = typeOf[name]
  const types = constants.enrichment_type
  return type === undefined || !Array.isArray(types) || types.includes(type)
}

/** The headcount of the whole company and of the departments asked for, and all departments in one cell. */
function departmentColumns({ output }: Shape, { departments, live }: Input): ResultColumn[] {
  const { valueType } = nodeOf(output).def
  const asked = Array.isArray(departments) ? departments.map(String) : []
  const inner = valueType ? columnsOf(valueType) : []
  const known = live === false ? inner.filter(({ path }) => path.length === 1) : inner
  const columns = ['All', ...asked].flatMap((department) =>
    known.map(({ name, path }) => ({ name: `${department}.${name}`, path: [department, ...path] })),
  )
  return [...columns, { name: 'departments', path: [] }]
}

/** The result columns that `--fields` names; an object's name stands for all its columns. */
export function chosenColumns(
  { usual, all }: RowColumns,
  fields: readonly string[] | undefined,
): readonly ResultColumn[] {
  if (!fields) return usual
  return fields.flatMap((field) => {
    const chosen = all.filter(({ name }) => name === field || name.startsWith(`${field}.`))
    if (chosen.length > 0) return chosen
    throw unknownField(
      field,
      all.map(({ name }) => name),
    )
  })
}
