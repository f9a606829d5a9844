import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Input } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import type { Identity } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import type { ListKind } from '../lists/keys.js'
import {
  type KnownList,
  type MappedList,
  mapList,
  openMatcher,
  pairsFor,
  recordList,
  tableList,
} from '../lists/lists.js'
import { openInput } from './find-run.js'
import type { Table } from './input/table.js'
import type { RunHome, RunPorts } from './ports.js'

/** What opening lists takes. */
export type ListPorts = RunHome & Pick<RunPorts, 'streams' | 'convertSheet' | 'claimFile' | 'records'>

/** Whether a source of known rows is no file. */
export const isRecords = (source: string): boolean => source === 'catalogue' || source.startsWith('list:')

/** A list that was opened; without a mapping where it is no file. */
export interface OpenList {
  readonly list: KnownList
  readonly header: readonly string[]
  readonly mapped?: MappedList
}

/** Opens a table by its path; `-` is stdin. `option` is what names it. */
export async function openListFile(
  ports: ListPorts,
  file: string,
  option: string,
  sheet?: string,
): Promise<Table> {
  const choices = { file, sheet, map: [], mapOnly: false, dryRun: false, raw: false, failOn: 'any' } as const
  const { table } = await openInput(ports, { ...choices, encoding: undefined, delimiter: undefined })
  if (file !== '-') ports.claimFile(table.path, option, 'read')
  return table
}

/** Opens lists about a kind, as an option names them: files, `catalogue`, `list:NAME`. `pairs` are those of `--map`. */
export async function openLists(
  ports: ListPorts,
  sources: readonly string[],
  kind: ListKind,
  option: string,
  pairs: readonly string[] = [],
): Promise<readonly OpenList[]> {
  const opened: OpenList[] = []
  for (const source of sources) {
    if (isRecords(source)) {
      if (source !== 'catalogue' && kind === 'people')
        throw new Refusal('list.of_companies', { option, source })
      opened.push({ list: recordList(source, () => ports.records(source, kind)), header: [] })
      continue
    }
    const table = await openListFile(ports, source, option)
    const mapped = mapAs(table, source, kind, option, pairs)
    opened.push({ list: tableList(source, table, mapped), header: table.header, mapped })
  }
  return opened
}

/** Maps a list for rows about a kind. A list of people has companies, too; one of companies has no people. */
function mapAs(
  table: Table,
  source: string,
  kind: ListKind,
  option: string,
  pairs: readonly string[],
): MappedList {
  const own = pairsFor(pairs, table.header)
  if (kind === 'companies' || own.length > 0) return mapList(table, source, kind, own)
  const found = mapList(table, source)
  if (found.kind === kind) return found
  throw new Refusal('list.of_companies', { option, source })
}

/** Opens what finds rows in lists; closed with the command. */
export async function openKnown(
  ports: ListPorts,
  opened: readonly OpenList[],
  kind: ListKind,
  take: readonly string[] = [],
  onRow?: (rows: number) => void,
) {
  const matcher = await openMatcher(
    kind,
    opened.map(({ list }) => list),
    take,
    onRow,
  )
  ports.onClose(() => matcher.close())
  return matcher
}

/** The rows of `--skip-known`. */
export interface KnownRows {
  /** Equal for the same lists. */
  readonly fingerprint: string
  /** Whether a list surely has the company or person of an input. */
  has(input: Input): boolean
}

const kinds: Readonly<Record<Identity, ListKind | undefined>> = {
  ...{ company: 'companies', person: 'people', contact: 'people', email: 'people', number: undefined },
}

/** Opens the lists whose rows an operation does not look up, or that are of a kind; `undefined` without any. Closed with the command. */
export async function openKnownRows(
  ports: ListPorts & Pick<RunPorts, 'notify'>,
  of: Operation | ListKind,
  sources: readonly string[] = [],
  onRow?: (rows: number) => void,
): Promise<KnownRows | undefined> {
  if (sources.length === 0) return undefined
  const option = '--skip-known'
  const kind = typeof of === 'string' ? of : kinds[of.batch?.identity ?? 'company']
  if (kind === undefined) throw new Refusal('list.of_numbers', { option })
  const opened = await openLists(ports, sources, kind, option)
  const matcher = await openKnown(ports, opened, kind, [], onRow)
  for (const [at, { name, rows }] of matcher.counts.entries()) {
    const columns = opened[at]?.mapped?.mapping.columns ?? []
    const named = columns.map(({ field, column }) => `${field} "${column}"`).join(', ')
    const count = `${rows.toLocaleString('en-US')} known ${rows === 1 ? 'row' : 'rows'}`
    ports.notify(`${basename(name)}: ${count}${named === '' ? '' : `, by ${named}`}`)
  }
  return {
    fingerprint: createHash('sha256').update(matcher.fingerprint).digest('hex').slice(0, 32),
    has: (input) => matcher.find(input).verdict === 'yes',
  }
}
