import { isRefusal, Refusal } from '../api/calls/errors.js'
import { keysOf, keyText } from '../identity/keys.js'
import { type Driver, portionsOf, readBehind, type StoredRow } from '../storage/driver/connection.js'
import type { StoredAccount } from './accounts.js'
import {
  BatchRefused,
  type CrmAssociation,
  type CrmConnector,
  type CrmKind,
  type CrmRecord,
  type CrmValues,
  type CrmWrite,
  type CrmWritten,
  crmKinds,
  WriteLost,
} from './connector.js'
import {
  type MirrorEntry,
  type MirrorPorts,
  mirrored,
  mirroredOf,
  pullKind,
  putCompany,
  putRecords,
  scopeOf,
  withoutSuppressed,
} from './mirror.js'
import { type PushAsked, type PushPlan, readAll } from './plan.js'
import type { PlannedPair, PlannedRow, RefusedRow, WriteStep } from './planned.js'

// What is written is stored before it is sent, and its outcome after: whoever goes on after a kill knows what may have been
// done, and looks for it by reading what is never behind.

export interface StoredPush {
  readonly number: number
  readonly id: string
  readonly crm: string
  readonly account: string
  readonly file: string
  readonly fileHash: string
  readonly request: PushRequest
  readonly state: 'running' | 'stopped' | 'finished' | 'undone'
  readonly beganAt: number
  readonly endedAt: number | null
}

export interface PushRequest extends PushAsked {
  readonly digest: string
}

export interface StoredWrite {
  readonly push: number
  readonly step: WriteStep
  readonly row: number
  readonly action: 'create' | 'update' | 'associate'
  readonly state: 'sent' | 'done' | 'refused' | 'undoing' | 'undone' | 'kept'
  readonly record: string | null
  readonly fields: CrmValues
  readonly before: CrmValues
  readonly error: string | null
  readonly sentAt: number
}

interface PushRow {
  readonly number: number
  readonly id: string
  readonly crm: string
  readonly account: string
  readonly file: string
  readonly file_hash: string
  readonly request: string
  readonly state: StoredPush['state']
  readonly began_at: number
  readonly ended_at: number | null
}

const toPush = ({ file_hash, request, began_at, ended_at, ...rest }: PushRow): StoredPush => ({
  ...rest,
  number: Number(rest.number),
  fileHash: file_hash,
  request: JSON.parse(request) as PushRequest,
  beganAt: Number(began_at),
  endedAt: ended_at === null ? null : Number(ended_at),
})

type WriteRow = Omit<StoredWrite, 'fields' | 'before' | 'sentAt'> & {
  readonly fields: string
  readonly before: string
  readonly sent_at: number
}

const toWrite = ({ fields, before, sent_at, ...rest }: WriteRow): StoredWrite => ({
  ...rest,
  push: Number(rest.push),
  row: Number(rest.row),
  fields: JSON.parse(fields) as CrmValues,
  before: JSON.parse(before) as CrmValues,
  sentAt: Number(sent_at),
})

export async function listPushes(database: Driver, where = '', ...values: string[]): Promise<StoredPush[]> {
  const sql = `SELECT * FROM crm_pushes ${where} ORDER BY number DESC`
  return (await database.read((reads) => reads.all<PushRow>(sql, ...values))).map(toPush)
}

/** Yields what a push wrote, in portions. `where` chooses among it. */
export async function* writesOf(
  database: Driver,
  push: number,
  where = 'TRUE',
  limit = writesAtOnce,
): AsyncGenerator<readonly StoredWrite[]> {
  const read = (last: StoredRow | undefined) =>
    database.read((reads) =>
      readBehind(reads, {
        table: 'crm_writes',
        key: ['step', 'row'],
        where: [`push = ? AND ${where}`, push],
        last,
        limit,
      }),
    )
  for await (const portion of portionsOf(limit, read))
    if (portion.length > 0) yield portion.map((row) => toWrite(row as unknown as WriteRow))
}

const writesAtOnce = 500

/** Returns how many writes of a push have each state, by their actions. */
export async function countWrites(database: Driver, push: number): Promise<readonly CountedWrites[]> {
  const sql = 'SELECT action, state, count(*) AS count FROM crm_writes WHERE push = ? GROUP BY action, state'
  const rows = await database.read((reads) => reads.all<CountedWrites>(sql, push))
  return rows.map((one) => ({ ...one, count: Number(one.count) }))
}

interface CountedWrites extends Pick<StoredWrite, 'action' | 'state'> {
  readonly count: number
}

/** Returns what a push wrote of some rows, by their numbers. */
async function writesOfRows(
  database: Driver,
  push: number,
  step: WriteStep,
  rows: readonly { readonly row: number }[],
): Promise<ReadonlyMap<number, StoredWrite>> {
  const numbers = JSON.stringify(rows.map(({ row }) => row))
  const sql = `SELECT * FROM crm_writes WHERE push = ? AND step = ?
    AND row IN (SELECT atom FROM json_each(?))`
  const found = await database.read((reads) => reads.all<WriteRow>(sql, push, step, numbers))
  return new Map(found.map(toWrite).map((one) => [one.row, one]))
}

/** Returns the push that the same command began and did not finish. */
export async function findUnfinished(
  database: Driver,
  { crm, account }: StoredAccount,
  fileHash: string,
  asked: PushAsked,
): Promise<StoredPush | undefined> {
  const where = "WHERE crm = ? AND account = ? AND file_hash = ? AND state IN ('running', 'stopped')"
  const all = await listPushes(database, where, crm, account, fileHash)
  return all.find(({ request: { digest: _, ...rest } }) => sameAsked(rest, asked))
}

const sameAsked = (one: PushAsked, other: PushAsked): boolean =>
  JSON.stringify(toAsked(one)) === JSON.stringify(toAsked(other))

const toAsked = ({ mode, kind, map, values, fields, owner, unknown }: PushAsked) => [
  mode,
  kind ?? null,
  map,
  values,
  fields ?? null,
  owner ?? null,
  unknown,
]

export interface PushPorts extends MirrorPorts {
  readonly account: StoredAccount
  readonly connector: CrmConnector
  now(): number
  /** Called when more rows are done. */
  onRows(rows: number): void
  readonly signal?: AbortSignal | undefined
}

export async function beginPush(
  { database, account, now }: Pick<PushPorts, 'database' | 'account' | 'now'>,
  given: Pick<StoredPush, 'id' | 'file' | 'fileHash' | 'request'>,
): Promise<StoredPush> {
  const { id, file, fileHash, request } = given
  await database.transaction(
    (connection) =>
      connection.run(
        `INSERT INTO crm_pushes (id, crm, account, file, file_hash, request, state, began_at)
         VALUES (?, ?, ?, ?, ?, ?, 'running', ?)`,
        id,
        account.crm,
        account.account,
        file,
        fileHash,
        JSON.stringify(request),
        now(),
      ),
    scopeOf(account.crm),
  )
  const [push] = await listPushes(database, 'WHERE id = ?', id)
  return push as StoredPush
}

export const setPushState = (
  { database, account, now }: Pick<PushPorts, 'database' | 'account' | 'now'>,
  push: StoredPush,
  state: StoredPush['state'],
): Promise<number> =>
  database.transaction(
    (connection) =>
      connection.run(
        'UPDATE crm_pushes SET state = ?, ended_at = ? WHERE number = ?',
        state,
        state === 'running' ? null : now(),
        push.number,
      ),
    scopeOf(account.crm),
  )

/** Writes what was planned: companies, then people, then which company each has. The plan has what was refused. */
export async function executePush(ports: PushPorts, push: StoredPush, { rows }: PushPlan): Promise<void> {
  const { database, connector } = ports
  const { kind } = rows
  const size = connector.costs.write.records
  let count = 0
  const writeAll = async (step: CrmKind) => {
    for (const portion of rows.portions(step))
      for (const { row, state, record } of (
        await writesOfRows(database, push.number, step, portion)
      ).values())
        if (state === 'done') rows.done(step, row, record)
    for (const action of ['create', 'update'] as const)
      for (const portion of rows.toWrite(step, action, size)) {
        const left = action === 'update' ? await unchangedOf(ports, step, portion) : portion
        rows.refuse(await writeBatch(ports, push, step, action, left))
        rows.put(step, portion)
        count += portion.length
        ports.onRows(count)
      }
  }
  await writeAll('companies')
  if (kind === 'companies') return
  await writeAll('people')
  for (const pairs of rows.pairs(push.request.mode, size)) {
    const before = await writesOfRows(database, push.number, 'association', pairs)
    rows.refuse(
      await associate(
        ports,
        push,
        pairs.filter(({ row }) => before.get(row)?.state !== 'done'),
      ),
    )
  }
}

/**
 * Returns the rows whose records have still what was read of them, with what may be written of each: what somebody filled or
 * changed meanwhile stays.
 */
async function unchangedOf(
  { connector }: PushPorts,
  step: CrmKind,
  rows: readonly PlannedRow[],
): Promise<readonly PlannedRow[]> {
  const properties = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))]
  const ids = rows.flatMap(({ id }) => id ?? [])
  const records = new Map(
    (await readAll(connector, step, 'id', ids, properties)).map((record) => [record.id, record]),
  )
  return rows.filter((row) => {
    const record = records.get(row.id ?? '')
    // One that is gone is refused by the CRM itself.
    if (!record) return true
    const left = Object.entries(row.values).filter(
      ([name]) => (record.values[name] ?? '') === (row.before[name] ?? ''),
    )
    row.values = Object.fromEntries(left)
    if (left.length === 0) row.action = 'same'
    return left.length > 0
  })
}

function checkSignal({ signal }: Pick<PushPorts, 'signal'>): void {
  if (signal?.aborted) throw new Refusal('interrupted.push', { signal: signal.reason })
}

/** Returns what is sent for a row: with our own key, where the account has a property for it. */
function sentValues(ports: PushPorts, push: StoredPush, step: CrmKind, row: PlannedRow): CrmValues {
  const key = ports.account.keys[step]
  return row.action === 'create' && key !== undefined
    ? { ...row.values, [key]: `${push.id}-${row.row}` }
    : row.values
}

const putSql = `INSERT INTO crm_writes (push, step, row, action, state, record, fields, before, sent_at)
  VALUES (?, ?, ?, ?, 'sent', ?, ?, ?, ?)
  ON CONFLICT (push, step, row) DO UPDATE SET action = excluded.action, state = excluded.state, record = excluded.record,
    fields = excluded.fields, before = excluded.before, error = NULL, sent_at = excluded.sent_at, done_at = NULL`
const doneSql = `UPDATE crm_writes SET state = 'done', record = ?, before = ?, done_at = ?
  WHERE push = ? AND step = ? AND row = ?`
const refusedSql = `UPDATE crm_writes SET state = 'refused', error = ?, done_at = ? WHERE push = ? AND step = ? AND row = ?`
const dropSql = `DELETE FROM crm_writes WHERE push = ? AND step = ? AND row = ? AND state = 'sent'`

type Portion = readonly PlannedRow[]

async function writeBatch(
  ports: PushPorts,
  push: StoredPush,
  step: CrmKind,
  action: 'create' | 'update',
  rows: Portion,
  attempt = 1,
): Promise<readonly RefusedRow[]> {
  checkSignal(ports)
  if (rows.length === 0) return []
  const { database, now, account } = ports
  await database.transaction(async (connection) => {
    for (const row of rows) {
      const fields = JSON.stringify(sentValues(ports, push, step, row))
      const before = JSON.stringify(row.before)
      await connection.run(
        putSql,
        push.number,
        step,
        row.row,
        action,
        action === 'create' ? null : (row.id ?? ''),
        fields,
        before,
        now(),
      )
    }
  }, scopeOf(account.crm))
  await database.flush()
  return sendRows(ports, push, step, action, rows, attempt)
}

/** Sends rows whose intents are stored. A batch that is refused as a whole is halved until the row is found that it is about. */
async function sendRows(
  ports: PushPorts,
  push: StoredPush,
  step: CrmKind,
  action: 'create' | 'update',
  rows: Portion,
  attempt = 1,
): Promise<readonly RefusedRow[]> {
  const { connector } = ports
  const writes = rows.map(
    (row): CrmWrite => ({
      ref: String(row.row),
      id: action === 'update' ? row.id : undefined,
      values: sentValues(ports, push, step, row),
    }),
  )
  let written: readonly CrmWritten[] = []
  try {
    written = await connector[action](step, writes)
  } catch (error) {
    if (error instanceof BatchRefused) {
      const [only, ...others] = rows
      if (only && others.length === 0) {
        await noteExisting(ports, step, error.existing)
        return settle(ports, push, step, rows, [{ ref: String(only.row), error: error.sentence }])
      }
      const half = Math.ceil(rows.length / 2)
      const first = await sendRows(ports, push, step, action, rows.slice(0, half))
      checkSignal(ports)
      return [...first, ...(await sendRows(ports, push, step, action, rows.slice(half)))]
    }
    if (!(error instanceof WriteLost)) throw error
  }
  const refused = await settle(ports, push, step, rows, written)
  for (const one of written) if ('error' in one) await noteExisting(ports, step, one.existing)
  const answered = new Set(written.map(({ ref }) => ref))
  const lost = rows.filter((row) => !answered.has(String(row.row)))
  if (lost.length === 0) return refused
  if (attempt >= mostAttempts)
    throw new Refusal('crm.unreachable', { crm: connector.crm, reason: 'answers are lost' })
  await settleOpen(ports)
  const open = await writesOfRows(ports.database, push.number, step, lost)
  for (const row of lost) row.id = open.get(row.row)?.record ?? row.id
  const again = lost.filter(({ row }) => open.get(row)?.state !== 'done')
  if (again.length === 0) return refused
  return [...refused, ...(await writeBatch(ports, push, step, action, again, attempt + 1))]
}

const mostAttempts = 4

/** Reads a record that the CRM named as the one that is there already, so that the next push finds it. */
async function noteExisting(ports: PushPorts, step: CrmKind, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const { connector, database, now } = ports
  const read = await connector.read(step, 'id', [id], mirroredOf(connector, step))
  const records = await withoutSuppressed(ports, step, read)
  await database.transaction(
    (connection) => putRecords(connection, connector.crm, step, records, now()),
    scopeOf(connector.crm),
  )
}

/** Stores what became of rows, with the ids of their records. */
async function settle(
  ports: PushPorts,
  push: StoredPush,
  step: CrmKind,
  rows: Portion,
  written: readonly CrmWritten[],
): Promise<readonly RefusedRow[]> {
  const { database, connector, now } = ports
  const byRef = new Map(rows.map((row) => [String(row.row), row]))
  const refused: RefusedRow[] = []
  const entries = await withoutSuppressed(ports, step, await toMirror(ports, step, byRef, written))
  await database.transaction(async (connection) => {
    for (const one of written) {
      const row = byRef.get(one.ref)
      if (!row) continue
      if ('error' in one) {
        await connection.run(refusedSql, one.error, now(), push.number, step, row.row)
        continue
      }
      const before = JSON.stringify(row.before)
      await connection.run(doneSql, one.record.id, before, now(), push.number, step, row.row)
    }
    await putRecords(connection, connector.crm, step, entries, now())
  }, scopeOf(connector.crm))
  for (const one of written) {
    const row = byRef.get(one.ref)
    if (!row) continue
    if ('error' in one) refused.push({ row: row.row, step, error: one.error })
    else row.id = one.record.id
  }
  return refused
}

/** Returns the records of writes. The answer may have only what was written: the rest is what was read before. */
async function toMirror(
  { database, connector }: PushPorts,
  kind: CrmKind,
  rows: ReadonlyMap<string, Pick<PlannedRow, 'values'>>,
  written: readonly CrmWritten[],
): Promise<readonly MirrorEntry[]> {
  const records = written.flatMap((one) => ('error' in one ? [] : [one]))
  const sql = `SELECT id, data FROM crm_records WHERE crm = ? AND kind = ?
    AND id IN (SELECT value FROM json_each(?))`
  const ids = JSON.stringify(records.map(({ record }) => record.id))
  const known = await database.read((reads) =>
    reads.all<{ id: string; data: string }>(sql, connector.crm, kind, ids),
  )
  const before = new Map(known.map(({ id, data }) => [id, JSON.parse(data) as CrmValues]))
  const names = new Set(mirroredOf(connector, kind))
  return records.flatMap(({ ref, record }) => {
    const row = rows.get(ref)
    if (!row) return []
    const all = { ...before.get(record.id), ...record.values, ...row.values }
    const values = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)))
    return [{ id: record.id, values }]
  })
}

/** Gives people their companies, where they have none. */
async function associate(
  ports: PushPorts,
  push: StoredPush,
  planned: readonly PlannedPair[],
): Promise<readonly RefusedRow[]> {
  const { connector, database, now, account } = ports
  checkSignal(ports)
  if (planned.length === 0) return []
  // Whoever got one meanwhile keeps it.
  const companies = await connector.companiesOf(planned.map(({ person }) => person))
  const pairs = planned.flatMap((one) =>
    companies.has(one.person) ? [] : [{ ...one, ref: String(one.row) }],
  )
  if (pairs.length === 0) return []
  await database.transaction(async (connection) => {
    for (const { row, person, company } of pairs)
      await connection.run(
        putSql,
        push.number,
        'association',
        row,
        'associate',
        person,
        JSON.stringify({ company }),
        '{}',
        now(),
      )
  }, scopeOf(account.crm))
  await database.flush()
  await associateEach(connector, pairs)
  // A success does not say of each pair that it was done.
  const after = await connector.companiesOf(pairs.map(({ person }) => person))
  await database.transaction(async (connection) => {
    for (const { row, person, company } of pairs)
      if (after.get(person) === company) {
        await connection.run(doneSql, person, '{}', now(), push.number, 'association', row)
        await putCompany(connection, connector, person, company)
      } else await connection.run(refusedSql, noCompany, now(), push.number, 'association', row)
  }, scopeOf(account.crm))
  return pairs.flatMap(({ row, person, company }) =>
    after.get(person) === company ? [] : [{ row, step: 'association', error: noCompany }],
  )
}

const noCompany = 'The CRM did not give the person this company.'

/** Associates pairs; where one is refused, all others are done. */
async function associateEach(connector: CrmConnector, pairs: readonly CrmAssociation[]): Promise<void> {
  try {
    await connector.associate(pairs)
  } catch (error) {
    if (!isRefusal(error, 'crm.refused')) throw error
    if (pairs.length === 1) return
    const half = Math.ceil(pairs.length / 2)
    await associateEach(connector, pairs.slice(0, half))
    await associateEach(connector, pairs.slice(half))
  }
}

/** Clocks differ by no more than this. */
const clocksMs = 15 * 60_000

const createdSql = `SELECT 1 AS is_ours FROM crm_writes w JOIN crm_pushes p ON p.number = w.push
  WHERE w.record = ? AND p.crm = ? AND p.account = ? AND w.step = ? AND w.action = 'create' AND w.state <> 'sent' LIMIT 1`
const openSql = `SELECT w.* FROM crm_writes w JOIN crm_pushes p ON p.number = w.push
  WHERE p.crm = ? AND p.account = ? AND w.state = 'sent' ORDER BY w.push, w.step, w.row`

/**
 * Finds out what became of writes whose answers did not come: by ids, by what is unique, or in the list, and never by a
 * search. What was not done is forgotten, so that it can be done.
 */
export async function settleOpen(
  ports: Pick<PushPorts, 'database' | 'account' | 'connector' | 'areSuppressed' | 'now' | 'signal'>,
): Promise<number> {
  const { database, account, connector, now } = ports
  const { crm } = account
  const open = (await database.read((reads) => reads.all<WriteRow>(openSql, crm, account.account))).map(
    toWrite,
  )
  if (open.length === 0) return 0
  const outcome = new Map<StoredWrite, CrmRecord | undefined>()
  for (const kind of ['companies', 'people'] as const) {
    const own = open.filter(({ step }) => step === kind)
    if (own.length === 0) continue
    const names = new Set([
      ...mirroredOf(connector, kind),
      ...own.flatMap(({ fields }) => Object.keys(fields)),
    ])
    const properties = [...names]
    const updates = own.filter(({ action }) => action === 'update')
    const byId = new Map(
      (
        await readAll(
          connector,
          kind,
          'id',
          [...new Set(updates.flatMap(({ record }) => record ?? []))],
          properties,
        )
      ).map((record) => [record.id, record]),
    )
    for (const one of updates) {
      const record = byId.get(one.record ?? '')
      outcome.set(one, record && hasAll(record.values, one.fields) ? record : undefined)
    }
    const key = account.keys[kind]
    let left = own.filter(({ action }) => action === 'create')
    for (const property of [...(key === undefined ? [] : [key]), ...connector.unique[kind]]) {
      const asked = left.filter(({ fields }) => fields[property] !== undefined)
      const values = asked.map(({ fields }) => String(fields[property]))
      const records = await readAll(connector, kind, property, values, [
        ...new Set([...properties, property]),
      ])
      for (const one of asked) {
        const value = String(one.fields[property]).toLowerCase()
        const record = records.find((each) => each.values[property]?.toLowerCase() === value)
        // Somebody else may have created one with the address.
        outcome.set(one, record && (property === key || isOurs(record, one)) ? record : undefined)
      }
      left = left.filter((one) => !asked.includes(one))
    }
    if (left.length === 0) continue
    const wants = connector.changesLag ? 'all' : 'changes'
    await pullKind(connector, kind, { ...ports, onRecords: () => {} }, wants)
    // Of namesakes, those whose writes were answered are not looked for.
    const isAnswered = async (id: string) =>
      (await database.read((reads) => reads.get(createdSql, id, crm, account.account, kind))) !== undefined
    for await (const portion of mirrored(database, crm, kind))
      for (const { id, values } of portion)
        for (const one of left) {
          if (outcome.has(one) || !hasMirrored(connector, kind, values, one.fields) || (await isAnswered(id)))
            continue
          const [record] = await connector.read(kind, 'id', [id], properties)
          if (record && isOurs(record, one) && ![...outcome.values()].some((each) => each?.id === id))
            outcome.set(one, record)
        }
  }
  const associations = open.filter(({ step }) => step === 'association')
  const entries: [CrmKind, readonly MirrorEntry[]][] = []
  for (const kind of crmKinds) {
    const names = new Set(mirroredOf(connector, kind))
    const found = [...outcome].flatMap(([{ step }, record]) => (step === kind && record ? [record] : []))
    const records = found.map(({ id, values }) => ({
      id,
      values: Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name))),
    }))
    entries.push([kind, await withoutSuppressed(ports, kind, records)])
  }
  await database.transaction(async (connection) => {
    for (const [kind, found] of entries) await putRecords(connection, crm, kind, found, now())
    for (const one of open) {
      const record = outcome.get(one)
      if (record) {
        const { push, step, row, before } = one
        await connection.run(doneSql, record.id, JSON.stringify(before), now(), push, step, row)
      } else if (!associations.includes(one)) await connection.run(dropSql, one.push, one.step, one.row)
    }
  }, scopeOf(crm))
  await settleAssociations(ports, associations)
  return open.length
}

async function settleAssociations(
  { database, connector, now }: Pick<PushPorts, 'database' | 'connector' | 'now'>,
  open: readonly StoredWrite[],
): Promise<void> {
  const { records } = connector.costs.read
  for (let from = 0; from < open.length; from += records) {
    const part = open.slice(from, from + records)
    const companies = await connector.companiesOf(part.map(({ record }) => record ?? ''))
    await database.transaction(async (connection) => {
      for (const { push, step, row, record, fields } of part)
        if (companies.get(record ?? '') === fields.company) {
          await connection.run(doneSql, record, '{}', now(), push, step, row)
          await putCompany(connection, connector, record ?? '', fields.company ?? '')
        } else await connection.run(dropSql, push, step, row)
    }, scopeOf(connector.crm))
  }
}

const same = (one: string | undefined, other: string): boolean =>
  (one ?? '').toLowerCase() === other.toLowerCase()

const hasAll = (values: CrmValues, fields: CrmValues): boolean =>
  Object.entries(fields).every(([name, value]) => same(values[name], value))

/** Whether a record is about whom a write was about: a CRM may spell numbers, addresses and domains otherwise. */
function hasMirrored(connector: CrmConnector, kind: CrmKind, values: CrmValues, fields: CrmValues): boolean {
  const subject = kind === 'people' ? 'person' : 'company'
  const keysIn = (of: CrmValues) =>
    connector.identities(kind, of).flatMap((one) => keysOf(subject, one).slice(0, 1))
  const theirs = keysIn(values).map((key) => keyText(subject, key))
  const own = keysIn(fields).map((key) => keyText(subject, key))
  if (own.length > 0) return own.some((key) => theirs.includes(key))
  return Object.keys(fields).length > 0 && hasAll(values, fields)
}

/** Whether a record that is about the same was created by a write: it is no older. */
const isOurs = ({ createdAt }: CrmRecord, { sentAt }: StoredWrite): boolean => createdAt >= sentAt - clocksMs
