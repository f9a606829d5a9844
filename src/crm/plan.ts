import { createHash } from 'node:crypto'
import { Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'
import { FooterCounter } from '../csv/footer.js'
import { type Key, keysOf, type SubjectKind } from '../identity/keys.js'
import { toDomain } from '../identity/value-kinds.js'
import type { Match } from '../lists/list-index.js'
import type { Table } from '../runs/input/table.js'
import { openMatcher } from '../runs/lists.js'
import type { RunHome } from '../runs/ports.js'
import type { StoredAccount } from './accounts.js'
import {
  type CrmConnector,
  type CrmKind,
  type CrmRecord,
  type CrmValues,
  crmKinds,
  idColumn,
  type PushMode,
} from './connector.js'
import { checkProperty, domainIn, mapPush, type PushMapping } from './mapping.js'
import {
  areAnySuppressed,
  dropRecords,
  type MirrorPorts,
  mirroredOf,
  mirrorList,
  putRecords,
  scopeOf,
  withoutSuppressed,
} from './mirror.js'
import { type PlannedRow, PlannedRows } from './planned.js'

/** What a person asks of a push, beside the file. */
export interface PushAsked {
  readonly mode: PushMode
  readonly kind?: CrmKind | undefined
  readonly map: readonly string[]
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Properties that existing records may get; by default all that are mapped. */
  readonly fields?: readonly string[] | undefined
  /** Address of the owner of new records. */
  readonly owner?: string | undefined
  /** Whether companies are created of which nothing but a domain or an address is known. */
  readonly unknown: boolean
}

export interface PushPlan {
  readonly mapping: PushMapping
  /** What becomes of each row, and the companies of people: found, or to be created. */
  readonly rows: PlannedRows
  /** Cells that a property does not take, by its name. */
  readonly leftOut: Readonly<Record<string, number>>
  readonly fileHash: string
  /** Equal where file, mapping and the records that were read are. */
  readonly digest: string
}

export interface PlanPorts extends Pick<RunHome, 'onClose'>, MirrorPorts {
  readonly account: StoredAccount
  readonly connector: CrmConnector
  now(): number
  readonly signal?: AbortSignal | undefined
}

type Draft = PlannedRow & { fields: Fields }

const rowsAtOnce = 500

/** Finds out what a push would write. It reads, and changes nothing. */
export async function planPush(
  ports: PlanPorts,
  table: Pick<Table, 'header' | 'samples' | 'notes' | 'rows'>,
  file: string,
  asked: PushAsked,
): Promise<PushPlan> {
  const { connector, account } = ports
  const schema = {
    companies: await connector.schema('companies'),
    people: await connector.schema('people'),
  }
  const mapping = mapPush(connector, table, file, schema, asked)
  const { kind } = mapping
  if (asked.mode === 'overwrite' && asked.fields === undefined) throw new Refusal('crm.overwrite_fields')
  const named = asked.fields?.map((name) => {
    const own: Readonly<Record<string, string>> = connector.fields[kind]
    const property = own[name] ?? name
    const found = schema[kind].find((one) => one.name === property)
    checkProperty(connector.crm, property, found, schema[kind])
    if (!mapping.columns.some((one) => one.property.name === property))
      throw new Refusal('crm.unmapped_field', { name })
    return property
  })
  const owner = asked.owner === undefined ? undefined : await ownerOf(connector, asked.owner)
  const people = kind === 'people' ? await matcherOf(ports, 'people') : undefined
  const companies = await matcherOf(ports, 'companies')
  const own = people ?? companies
  const subject = kind === 'people' ? 'person' : 'company'
  const rows = new PlannedRows(
    kind,
    (of, values) =>
      account.keys[of] === undefined && !connector.unique[of].some((name) => values[name] !== undefined),
  )
  ports.onClose(() => rows.close())
  const leftOut: Record<string, number> = {}
  const hash = createHash('sha256').update(JSON.stringify(table.header))
  const footer = new FooterCounter()
  let number = 0
  for await (const batch of table.rows())
    for (let from = 0; from < batch.length; from += rowsAtOnce) {
      if (ports.signal?.aborted) throw new Refusal('interrupted.push', { signal: ports.signal.reason })
      const drafts: Draft[] = []
      for (const row of batch.slice(from, from + rowsAtOnce)) {
        hash.update(JSON.stringify(row.cells))
        number++
        if (footer.add(row)) continue
        const { cells, line } = row
        const base = { row: number, line, before: {} }
        if (cells.length !== table.header.length) {
          drafts.push({
            ...base,
            action: 'invalid',
            values: {},
            fields: {},
            reason: 'more cells than the header',
          })
          continue
        }
        const { values, left } = mapping.valuesOf(cells)
        for (const name of left) leftOut[name] = (leftOut[name] ?? 0) + 1
        const fields = mapping.identityOf(cells)
        const draft: Draft = { ...base, action: 'create', values, fields, id: mapping.idOf(cells) }
        if (draft.id === undefined) identify(draft, own.find(fields), rows, subject, keysOf(subject, fields))
        drafts.push(draft)
        if (!people) continue
        const company = mapping.companyOf(cells)
        if (company) draft.company = companyFor(company, draft, rows, companies.find, connector)
      }
      await leaveOutSuppressed(ports, drafts)
      await readRecords(ports, kind, drafts, { ...asked, fields: named, owner }, mapping, rows)
      rows.put(kind, drafts)
    }
  if (kind === 'people') {
    rows.dropUnused()
    await checkCompanies(ports, rows)
    rows.dropCompanies()
  }
  const fileHash = hash.digest('hex').slice(0, 32)
  const digest = createHash('sha256')
    .update(JSON.stringify([account.crm, account.account, asked, fileHash]))
    .update(JSON.stringify(mapping.columns.map(({ column, property }) => [column, property.name])))
  for (const step of kind === 'people' ? crmKinds : [kind])
    for (const portion of rows.portions(step))
      for (const { row, action, id, values, before, hasCompany, company } of portion)
        digest.update(JSON.stringify([row, action, id, sorted(values), sorted(before), hasCompany, company]))
  return {
    mapping,
    rows,
    leftOut,
    fileHash,
    digest: digest.digest('hex').slice(0, 12),
  }
}

const sorted = (values: CrmValues) => Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1))

async function matcherOf({ database, connector, onClose }: PlanPorts, kind: CrmKind) {
  return openMatcher({ onClose }, kind, [await mirrorList(database, connector, kind)], [idColumn])
}

async function ownerOf(connector: CrmConnector, email: string): Promise<string> {
  const owners = await connector.owners()
  const found = owners.find((one) => one.email === email.trim().toLowerCase())
  if (found) return found.id
  throw new Refusal('crm.no_owner', { crm: connector.crm, email, known: owners.map((one) => one.email) })
}

/** Says which record a row is, or that none is; what is not certain is for a person. */
function identify(
  draft: Draft,
  match: Match,
  rows: PlannedRows,
  subject: SubjectKind,
  keys: readonly Key[],
): void {
  if (keys.length === 0) {
    draft.action = 'invalid'
    draft.reason = 'nothing in it says whom it is about'
    return
  }
  const [id] = match.taken
  if (match.among || match.verdict === 'maybe') {
    draft.action = 'review'
    const ids = (match.among ?? [match.taken]).flatMap(([one]) => one ?? [])
    draft.reason = `${match.among ? 'several records have' : 'a record may have'} its ${match.by}${ids.length > 0 ? `: ${ids.join(', ')}` : ''}`
    return
  }
  if (match.verdict === 'yes') draft.id = id
  const before = rows.find(subject, keys)
  if (before !== undefined) {
    draft.action = 'repeated'
    draft.reason = `the same as the row on line ${before.line}`
  } else rows.see(subject, keys, draft)
}

/** Plans the company of a person: one that is there, or one that is created because its domain is known. Returns its row. */
function companyFor(
  fields: Fields,
  { row, line }: PlannedRow,
  rows: PlannedRows,
  find: (fields: Fields) => Match,
  { fields: names }: CrmConnector,
): number | undefined {
  const keys = keysOf('company', fields)
  if (keys.length === 0) return undefined
  const before = rows.find('company', keys)
  if (before) return before.row
  const match = find(fields)
  // It is not known which one is meant.
  if (match.among || match.verdict === 'maybe') return undefined
  const own: Readonly<Record<string, string>> = names.companies
  const site = fields.domain === undefined ? undefined : String(fields.domain)
  const domain = site !== undefined && domainIn(own) !== undefined ? (toDomain(site) ?? site) : site
  const given = Object.entries({ domain, name: fields.name ?? domain })
  const values = Object.fromEntries(
    given.flatMap(([field, value]) =>
      value === undefined || own[field] === undefined ? [] : [[own[field], String(value)]],
    ),
  )
  const isThere = match.verdict === 'yes'
  if (!isThere && !keys.some(({ sort }) => sort === 'domain')) return undefined
  const company: PlannedRow = {
    row,
    line,
    action: isThere ? 'same' : 'create',
    id: isThere ? match.taken[0] : undefined,
    values,
    before: {},
  }
  rows.see('company', keys, company)
  rows.put('companies', [company])
  return row
}

/** Leaves out whom nobody may contact; of a company that is suppressed nothing is created. */
async function leaveOutSuppressed({ areSuppressed }: PlanPorts, drafts: readonly Draft[]): Promise<void> {
  const out = await areSuppressed(drafts.map(({ fields }) => fields))
  for (const [at, draft] of drafts.entries()) {
    if (!out[at]) continue
    draft.action = 'suppressed'
    draft.company = undefined
  }
}

interface Deciding extends PushAsked {
  readonly owner: string | undefined
}

/** Reads the records of rows as they are now, and decides what each of them gets. */
async function readRecords(
  ports: PlanPorts,
  kind: CrmKind,
  drafts: readonly Draft[],
  asked: Deciding,
  mapping: PushMapping,
  rows: PlannedRows,
): Promise<void> {
  const { connector, database, now } = ports
  const properties = [
    ...new Set([...mirroredOf(connector, kind), ...mapping.columns.map((one) => one.property.name)]),
  ]
  const open = drafts.filter(({ action }) => action === 'create')
  const found = new Map<string, CrmRecord>()
  // The mirror may be behind: what is unique is asked for.
  for (const property of connector.unique[kind]) {
    const unknown = open.filter(({ id, values }) => id === undefined && values[property] !== undefined)
    const values = [...new Set(unknown.map((one) => String(one.values[property])))]
    const records = await readAll(connector, kind, property, values, properties)
    for (const record of records) {
      found.set(record.id, record)
      const all = connector.identities(kind, record.values).map((one) => String(one[property] ?? ''))
      const isTheirs = (text = '') =>
        [record.values[property] ?? '', ...all].some((one) => one.toLowerCase() === text.toLowerCase())
      for (const draft of unknown) if (isTheirs(draft.values[property])) draft.id = record.id
    }
  }
  const ids = [...new Set(open.flatMap(({ id }) => id ?? []))].filter((id) => !found.has(id))
  for (const record of await readAll(connector, kind, 'id', ids, properties)) found.set(record.id, record)
  const gone = ids.filter((id) => !found.has(id))
  const entries = await withoutSuppressed(ports, kind, [...found.values()])
  await database.transaction(async (connection) => {
    await putRecords(connection, connector.crm, kind, entries, now())
    await dropRecords(connection, connector.crm, kind, gone)
  }, scopeOf(connector.crm))
  const suppressed = await areAnySuppressed(
    ports,
    open.map(({ id }) => connector.identities(kind, found.get(id ?? '')?.values ?? {})),
  )
  for (const [at, draft] of open.entries()) {
    const record = draft.id === undefined ? undefined : found.get(draft.id)
    if (draft.id !== undefined && !record) {
      draft.action = 'review'
      draft.reason = `the record ${draft.id} is no longer there`
      continue
    }
    if (suppressed[at] || (record && kind === 'people' && connector.isOptedOut(record.values))) {
      draft.action = 'suppressed'
      draft.company = undefined
      continue
    }
    if (record && !rows.take(record.id)) {
      draft.action = 'repeated'
      draft.reason = `another row is about the record ${record.id}, too`
      continue
    }
    decide(draft, record, asked, connector, kind)
  }
  if (kind === 'people') await readCompanies(connector, open)
}

/** Says which values a record gets: a blank never clears, and what is filled stays in all modes but one. */
function decide(
  draft: PlannedRow,
  record: CrmRecord | undefined,
  { mode, fields, owner, unknown }: Deciding,
  connector: CrmConnector,
  kind: CrmKind,
): void {
  if (!record) {
    const own = draft.values
    const lacking = connector.required[kind].find((names) => names.every((name) => own[name] === undefined))
    if (kind === 'companies' && !unknown && isAddressOnly(own, connector.fields.companies)) {
      draft.action = 'unknown'
      return
    }
    draft.values = owner === undefined ? own : { ...own, [connector.owner]: owner }
    if (Object.keys(draft.values).length > 0 && !lacking) return
    draft.action = 'invalid'
    draft.reason = lacking
      ? `${connector.crm} takes no new record without ${lacking.join(' or ')}`
      : 'no column of it fills a property'
    return
  }
  const isMeant = ([name]: [string, string]) =>
    (fields === undefined || fields.includes(name)) && !connector.onCreation.includes(name)
  const changes = Object.entries(draft.values).filter(isMeant)
  const wanted = changes.filter(([name, value]) => {
    const has = record.values[name] ?? ''
    if (mode === 'create') return false
    return mode === 'fill' ? has === '' : has !== value
  })
  draft.action = wanted.length > 0 ? 'update' : 'same'
  draft.values = Object.fromEntries(wanted)
  draft.before = Object.fromEntries(wanted.map(([name]) => [name, record.values[name] ?? '']))
}

/** Whether values say where a company is found, and nothing of it. */
const isAddressOnly = (values: CrmValues, fields: Readonly<Record<string, string>>): boolean =>
  Object.keys(values).every((name) => [fields.domain, fields.website, fields.network_url].includes(name))

async function readCompanies(connector: CrmConnector, drafts: readonly Draft[]): Promise<void> {
  const known = drafts.filter(
    ({ id, company, action }) => id !== undefined && company && (action === 'same' || action === 'update'),
  )
  const { records } = connector.costs.read
  for (let from = 0; from < known.length; from += records) {
    const part = known.slice(from, from + records)
    const companies = await connector.companiesOf(part.map(({ id }) => id ?? ''))
    for (const draft of part) draft.hasCompany = companies.has(draft.id ?? '')
  }
}

/**
 * Creates companies that are no longer there, though the last pull had them, where their domain is known. Creates none that is
 * suppressed.
 */
async function checkCompanies(ports: PlanPorts, rows: PlannedRows): Promise<void> {
  for (const planned of rows.portions('companies')) {
    await checkPortion(ports, planned)
    rows.put('companies', planned)
  }
}

async function checkPortion(
  { areSuppressed, connector, database }: PlanPorts,
  planned: readonly PlannedRow[],
): Promise<void> {
  const ids = planned.flatMap(({ id }) => id ?? [])
  const there = new Set((await readAll(connector, 'companies', 'id', ids, [])).map(({ id }) => id))
  const gone = planned.filter(({ id }) => id !== undefined && !there.has(id))
  const dropped = gone.flatMap(({ id }) => id ?? [])
  await database.transaction(
    (connection) => dropRecords(connection, connector.crm, 'companies', dropped),
    scopeOf(connector.crm),
  )
  for (const company of gone) {
    company.id = undefined
    const [fields = {}] = connector.identities('companies', company.values)
    // With a name alone it is not known which one is meant.
    company.action = keysOf('company', fields).some(({ sort }) => sort === 'domain') ? 'create' : 'invalid'
  }
  const records = planned.map(({ values }) => connector.identities('companies', values)[0] ?? {})
  const out = await areSuppressed(records)
  for (const [at, company] of planned.entries())
    if (out[at] && company.action === 'create') company.action = 'suppressed'
}

export async function readAll(
  connector: CrmConnector,
  kind: CrmKind,
  by: string,
  values: readonly string[],
  properties: readonly string[],
): Promise<readonly CrmRecord[]> {
  const all: CrmRecord[] = []
  const { records } = connector.costs.read
  for (let from = 0; from < values.length; from += records)
    all.push(...(await connector.read(kind, by, values.slice(from, from + records), properties)))
  return all
}
