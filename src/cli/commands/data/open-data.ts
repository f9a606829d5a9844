import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { isRefusal, Refusal } from '../../../api/calls/errors.js'
import { isoDay } from '../../../api/values/dates.js'
import type { Fields } from '../../../api/values/objects.js'
import type { ImportOptions, RecordKind } from '../../../catalogue/kinds/kind.js'
import type { OpenSet } from '../../../catalogue/open-data/sets.js'
import type { Context } from '../../context/context.js'
import { day, type OptionsOf, optionRows } from '../../options/values.js'

/** The options of an import for files of open data. */
export const openOptions = optionRows({
  source: [
    '<name>',
    'the open data that the file is of (data sources), where its header does not say so; own: it is none',
  ],
  snapshot: [
    '<date>',
    'the day that open data is of (default: in the name of the file, else when it was written)',
    day,
  ],
  where: [
    '<condition>',
    `import only these companies: 'country in ["DE","AT"] && headcount_range != "1-10"'`,
  ],
  create: ['', 'also add the companies of which open data has neither domain nor profile'],
})

/** Returns what is asked of a file of open data. Throws where records of another kind are imported. */
export async function openDataOptions(
  { clock, streams }: Context,
  kind: RecordKind,
  file: string,
  { source, snapshot, where, create }: OptionsOf<typeof openOptions>,
): Promise<Partial<ImportOptions>> {
  const given = Object.entries({ source, snapshot, where, create }).find(([, value]) => value !== undefined)
  if (kind !== 'companies') {
    if (given) throw new Refusal('usage.companies_only', { option: given[0], kind })
    return {}
  }
  const today = isoDay(clock.now())
  if (snapshot !== undefined && snapshot > today) throw new Refusal('usage.snapshot_future', { snapshot })
  // The month in the name of a file may not be over.
  const ofFile = (file === '-' ? undefined : await dayOfFile(resolve(streams.cwd, file))) ?? today
  return {
    ...(source === undefined ? {} : { source }),
    ...(where === undefined ? {} : { where: await openCondition(where) }),
    create: create ?? false,
    snapshot: snapshot ?? (ofFile < today ? ofFile : today),
  }
}

/** Returns the condition over companies with a name for their size that requests have, too. */
async function openCondition(text: string): Promise<(record: Fields) => boolean> {
  const { parseExpression } = await import('../../../lists/expressions.js')
  const { test } = await parseExpression(text, await openScope(), 'where').catch((error: unknown) => {
    // The column of sets.
    if (!isRefusal(error, 'expression.no_field') || error.details.field !== 'size') throw error
    throw new Refusal(error.code, { ...error.details, meant: 'headcount_range' })
  })
  return (record) => test({ ...record, headcount_range: record.employee_range ?? null })
}

async function openScope() {
  const { recordShape } = await import('../../../flows/fields.js')
  const { fields } = recordShape('companies')
  return { ...fields, ...(fields.employee_range && { headcount_range: fields.employee_range }) }
}

/** Fields that follow from others. */
const derived: Readonly<Record<string, readonly string[]>> = {
  domain: ['website'],
  network_id: ['network_url'],
  cleaned_name: ['name'],
  original_name: ['name'],
  employee_range: ['headcount'],
  headcount_range: ['employee_range', 'headcount'],
}

/** Returns what to say of a condition on fields that a file of open data has no column of. */
export async function noteMissing(
  { title, country }: OpenSet,
  mapping: Readonly<Record<string, string>>,
  where: string,
): Promise<readonly string[]> {
  const words = where.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '').match(/[a-z_]+/g) ?? []
  const scope = await openScope()
  const isThere = (field: string) =>
    Object.hasOwn(mapping, field) || field === 'id' || (field === 'country' && country !== undefined)
  const missing = [...new Set(words)].filter(
    (word) => Object.hasOwn(scope, word) && !isThere(word) && !(derived[word] ?? []).some(isThere),
  )
  return missing.map((field) => {
    const instead = field === 'headcount' && isThere('employee_range') ? '; ask for headcount_range' : ''
    return `--where: ${title} has no ${field}${instead}.`
  })
}

/** Returns the day in the name of a file, the last day of the quarter or month there, or else the day that it was written. */
async function dayOfFile(path: string): Promise<string | undefined> {
  const name = basename(path)
  const [, year = '', month = '', date = ''] =
    /(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)/.exec(name) ?? []
  const [, ofYear = '', quarter = ''] = /(?<!\d)(20\d\d)[-_. ]?q([1-4])(?!\d)/i.exec(name) ?? []
  if (ofYear !== '') return isoDay(Date.UTC(Number(ofYear), 3 * Number(quarter), 0))
  if (date !== '') return `${year}-${month}-${date}`
  if (year !== '') return isoDay(Date.UTC(Number(year), Number(month), 0))
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ? isoDay(found.mtimeMs) : undefined
}

export const describeSet = ({ title, licence, address }: OpenSet, snapshot = ''): string =>
  `Recognised: ${title}, of ${snapshot}, under ${licence} (${address}).`
