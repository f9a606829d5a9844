import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { Refusal } from '../api/calls/errors.js'
import { isObject, resultOr } from '../api/values/objects.js'
import { openInput } from '../runs/find-run.js'
import { rowInput } from '../runs/input/mapping.js'
import { isNoRecord } from '../runs/input/table.js'
import { isRecords, type ListPorts, mapList } from '../runs/lists.js'
import { rowFormats } from '../runs/output/formats.js'
import { createWriter, fileSink } from '../runs/output/writer.js'
import type { RunPorts } from '../runs/ports.js'
import { openRunFolder } from '../runs/records.js'
import type { InputChoices } from '../runs/request.js'
import { type FlowRow, recordNameOf } from './fields.js'
import { type CrmInput, type Flow, type FlowFiles, type FlowInput, isCrmInput, kindOfCrm } from './read.js'

/** Returns what opens the files of the flow at a path, whose paths are relative to it. */
export const flowFiles = (
  ports: ListPorts & Pick<RunPorts, 'notify'>,
  file: string,
): Omit<FlowFiles, 'sources' | 'openSearch'> => ({
  async openTable(input) {
    if (isCrmInput(input)) return crmTable(ports, input)
    const path = await tableOf(input, dirname(file), ports)
    if (path === undefined) return undefined
    if (!existsSync(path)) throw new Refusal('flow.no_file', { path })
    ports.claimFile(path, 'input', 'read')
    const { map = {}, ...choices } = input as Pick<InputChoices, 'sheet' | 'encoding' | 'delimiter'> & {
      readonly map?: Readonly<Record<string, string>>
    }
    const { table } = await openInput(ports, { ...choices, file: path })
    const pairs = Object.entries(map).map(([field, column]) => `${field}=${column}`)
    try {
      return { table, mapped: mapList(table, path, undefined, pairs) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      throw new Refusal(error.code, { ...error.details, isFlow: true })
    }
  },
  toList: (source) => (isRecords(source) ? source : resolve(dirname(file), source)),
})

/** Opens what was read of a CRM, as a table with our names, which stands in a file of this machine until the command ends. */
async function crmTable(
  ports: ListPorts & Pick<RunPorts, 'notify'>,
  input: CrmInput,
): Promise<NonNullable<Flow['table']>> {
  const [crm, kind] = [input.kind, kindOfCrm(input)]
  const { name, names, readAt, rows } = await ports.mirror(crm, kind)
  const file = join((await openRunFolder(ports)).path, `${kind}.csv`)
  const layout = { header: names, cells: (row: string[]) => row, record: () => ({}) }
  const writer = createWriter(await fileSink(file), rowFormats.csv.create<string[]>(layout))
  let records = 0
  for await (const batch of rows()) {
    // Of who is suppressed there is nothing to look up.
    const known = batch.filter(({ hashed }) => hashed === undefined)
    records += known.length
    await writer.write(known.map(({ fields, cell }) => names.map((of) => String(fields[of] ?? cell(of)))))
  }
  await writer.finish()
  const ageMs = ports.clock.now() - readAt
  ports.notify({ code: 'crm.as_read', details: { crm, kind, records, ageMs } })
  const { table } = await openInput(ports, { file })
  return { table, mapped: mapList(table, name, kind) }
}

/** Returns the path of the table that an input reads; `undefined` where it reads none. */
async function tableOf(
  input: FlowInput,
  folder: string,
  { claimFile }: Pick<ListPorts, 'claimFile'>,
): Promise<string | undefined> {
  if (input.kind === 'csv') return resolve(folder, input.csv)
  if (input.kind === 'xlsx') return resolve(folder, input.xlsx)
  if (input.kind !== 'flow') return undefined
  const other = resolve(folder, input.flow)
  claimFile(other, 'input', 'read')
  const text = await readFile(other, 'utf8').catch(() => {
    throw new Refusal('flow.no_file', { path: other })
  })
  const written: unknown = resultOr(undefined, () => parse(text))
  const outputs = isObject(written) ? [written.output].flat().filter(isObject) : []
  const path = outputs.map(({ csv, xlsx }) => csv ?? xlsx).find((one) => typeof one === 'string')
  if (path === undefined) throw new Refusal('flow.no_table', { path: other })
  return resolve(dirname(other), String(path))
}

/** Yields the rows of a table, with their fields under the names that records have. */
export async function* tableRows({ table, mapped }: NonNullable<Flow['table']>): AsyncGenerator<FlowRow[]> {
  const toFields = rowInput(mapped.mapping)
  const names = mapped.mapping.columns.map(({ field }) => [field, recordNameOf(mapped.kind, field)] as const)
  for await (const rows of table.rows())
    yield rows.map((row) => {
      const { line, cells } = row
      if (isNoRecord(row)) return { line, fields: undefined }
      const found = toFields(cells)
      const input = Object.fromEntries(table.header.map((name, at) => [name, cells[at] ?? '']))
      const own = Object.fromEntries(names.map(([field, name]) => [name, found[field] ?? null]))
      return { line, fields: { ...own, input } }
    })
}
