import { Refusal } from '../api/calls/errors.js'
import type { CrmConnector, CrmKind, CrmRecord, CrmValues } from './connector.js'
import { BatchRefused } from './connector.js'
import { dropRecords, mirroredOf, putRecords, scopeOf, withoutSuppressed } from './mirror.js'
import { readAll } from './plan.js'
import { countWrites, type PushPorts, type StoredPush, type StoredWrite, writesOf } from './push.js'

/** What an undo left as it was. */
export interface KeptWrite {
  readonly step: StoredWrite['step']
  readonly record: string
  readonly reason: string
}

export interface Undone {
  readonly restored: number
  readonly archived: number
  readonly dissociated: number
  readonly kept: readonly KeptWrite[]
}

const setSql =
  'UPDATE crm_writes SET state = ?, error = ?, done_at = ? WHERE push = ? AND step = ? AND row = ?'

/**
 * Takes back what a push wrote: fields that still have the value that they were given get the one before, and records that it
 * created and nobody touched are archived. The rest is kept, and told. It can be repeated after a kill.
 */
export async function undoPush(ports: PushPorts, push: StoredPush): Promise<Undone> {
  const { database, connector } = ports
  const kept: KeptWrite[] = []
  for await (const portion of writesOf(database, push.number, "state = 'kept'"))
    for (const { step, record, error } of portion)
      kept.push({ step, record: record ?? '', reason: error ?? '' })
  const earlier = await countWrites(database, push.number)
  const count = (of: StoredWrite['action']) =>
    earlier.find(({ action, state }) => action === of && state === 'undone')?.count ?? 0
  const counts = { restored: count('update'), archived: count('create'), dissociated: count('associate') }
  const { records } = connector.costs.write
  // What was undone is behind: the next portion has what is open still.
  for (const step of ['association', 'people', 'companies'] as const)
    for await (const part of writesOf(database, push.number, `step = '${step}' AND ${isOpen}`, records)) {
      if (ports.signal?.aborted) throw new Refusal('interrupted.push', { signal: ports.signal.reason })
      if (step === 'association') {
        counts.dissociated += await dissociate(ports, push, part, kept)
        continue
      }
      const { restored, archived } = await undoPart(ports, push, step, part, kept)
      counts.restored += restored
      counts.archived += archived
      ports.onRows(counts.restored + counts.archived)
    }
  return { ...counts, kept }
}

const isOpen = "state IN ('done', 'undoing')"

async function mark(
  { database, connector, now }: PushPorts,
  push: StoredPush,
  state: 'undoing' | 'undone' | 'kept',
  writes: readonly StoredWrite[],
  reasons: ReadonlyMap<StoredWrite, string> = new Map(),
): Promise<void> {
  await database.transaction(async (connection) => {
    for (const one of writes)
      await connection.run(setSql, state, reasons.get(one) ?? null, now(), push.number, one.step, one.row)
  }, scopeOf(connector.crm))
}

async function dissociate(
  ports: PushPorts,
  push: StoredPush,
  part: readonly StoredWrite[],
  kept: KeptWrite[],
): Promise<number> {
  const { connector } = ports
  const companies = await connector.companiesOf(part.map(({ record }) => record ?? ''))
  const still = part.filter(({ record, fields }) => companies.get(record ?? '') === fields.company)
  const gone = part.filter((one) => !still.includes(one) && one.state === 'done')
  await mark(ports, push, 'undoing', still)
  await ports.database.flush()
  const pairs = still.map(({ row, record, fields }) => ({
    ref: String(row),
    person: record ?? '',
    company: fields.company ?? '',
  }))
  if (pairs.length > 0) await connector.dissociate(pairs)
  await mark(
    ports,
    push,
    'undone',
    part.filter((one) => !gone.includes(one)),
  )
  const reason = 'it has another company now'
  await mark(ports, push, 'kept', gone, new Map(gone.map((one) => [one, reason])))
  for (const { step, record } of gone) kept.push({ step, record: record ?? '', reason })
  return part.length - gone.length
}

async function undoPart(
  ports: PushPorts,
  push: StoredPush,
  kind: CrmKind,
  part: readonly StoredWrite[],
  kept: KeptWrite[],
) {
  const { connector, database, now } = ports
  const written = part.flatMap(({ fields }) => Object.keys(fields))
  const properties = [...new Set([...mirroredOf(connector, kind), ...written])]
  const ids = [...new Set(part.flatMap(({ record }) => record ?? []))]
  const records = new Map(
    (await readAll(connector, kind, 'id', ids, properties)).map((record) => [record.id, record]),
  )
  const reasons = new Map<StoredWrite, string>()
  const restores = new Map<StoredWrite, CrmValues>()
  const archives: StoredWrite[] = []
  const already: StoredWrite[] = []
  for (const one of part) {
    const record = records.get(one.record ?? '')
    if (!record) {
      // It was archived before this was killed, or somebody else has deleted it.
      if (one.state === 'undoing' && one.action === 'create') already.push(one)
      else reasons.set(one, 'it is no longer there')
    } else if (one.action === 'create') {
      const touched = touchedIn(connector, kind, record, one)
      if (touched.length === 0) archives.push(one)
      else reasons.set(one, `created here, and changed since: ${touched.join(', ')}`)
    } else {
      const changed = Object.entries(one.fields).filter(
        ([name, value]) => record.values[name] !== value && (record.values[name] ?? '') !== one.before[name],
      )
      const own = Object.keys(one.fields).filter((name) => record.values[name] === one.fields[name])
      const back = Object.fromEntries(own.map((name) => [name, one.before[name] ?? '']))
      if (own.length > 0) restores.set(one, back)
      if (changed.length > 0) reasons.set(one, `changed since: ${changed.map(([name]) => name).join(', ')}`)
      else if (own.length === 0) already.push(one)
    }
  }
  await mark(ports, push, 'undoing', [...restores.keys(), ...archives])
  await database.flush()
  await restoreAll(connector, kind, restores, reasons)
  const archived = archives.flatMap(({ record }) => record ?? [])
  if (archived.length > 0) await connector.archive(kind, archived)
  const isUndone = (one: StoredWrite) => !reasons.has(one)
  await mark(ports, push, 'undone', part.filter(isUndone))
  const left = part.filter((one) => reasons.has(one))
  await mark(ports, push, 'kept', left, reasons)
  for (const one of left)
    kept.push({ step: one.step, record: one.record ?? '', reason: reasons.get(one) ?? '' })
  const names = new Set(mirroredOf(connector, kind))
  const changed = [...restores].flatMap(([{ record }, back]): CrmRecord[] => {
    const known = records.get(record ?? '')
    if (!known) return []
    const values = Object.entries({ ...known.values, ...back }).filter(
      ([name, value]) => value !== '' && names.has(name),
    )
    return [{ ...known, values: Object.fromEntries(values) }]
  })
  const entries = await withoutSuppressed(ports, kind, changed)
  await database.transaction(async (connection) => {
    await dropRecords(connection, connector.crm, kind, archived)
    await putRecords(connection, connector.crm, kind, entries, now())
  }, scopeOf(connector.crm))
  return {
    restored: part.filter((one) => one.action === 'update' && isUndone(one)).length,
    archived: archived.length + already.filter((one) => one.action === 'create').length,
  }
}

/** Returns what somebody changed of a record that a push created. What the CRM itself fills at creation does not count. */
function touchedIn(
  connector: CrmConnector,
  kind: CrmKind,
  { values }: CrmRecord,
  { fields }: StoredWrite,
): readonly string[] {
  const own = Object.keys(fields).filter(
    (name) => values[name]?.toLowerCase() !== fields[name]?.toLowerCase(),
  )
  const more = Object.values(connector.fields[kind]).filter(
    (name) => fields[name] === undefined && values[name] !== undefined && !connector.derived.includes(name),
  )
  return [...own, ...more]
}

/** Gives records their values back. One that the CRM refuses is kept, with its sentence. */
async function restoreAll(
  connector: CrmConnector,
  kind: CrmKind,
  restores: ReadonlyMap<StoredWrite, CrmValues>,
  reasons: Map<StoredWrite, string>,
): Promise<void> {
  const all = [...restores]
  if (all.length === 0) return
  try {
    const writes = all.map(([{ row, record }, values]) => ({ ref: String(row), id: record ?? '', values }))
    for (const one of await connector.update(kind, writes)) {
      const [write] = all.find(([{ row }]) => String(row) === one.ref) ?? []
      if (write && 'error' in one) reasons.set(write, one.error)
    }
  } catch (error) {
    if (!(error instanceof BatchRefused)) throw error
    const [only, ...others] = all
    if (only && others.length === 0) {
      reasons.set(only[0], error.sentence)
      return
    }
    const half = Math.ceil(all.length / 2)
    await restoreAll(connector, kind, new Map(all.slice(0, half)), reasons)
    await restoreAll(connector, kind, new Map(all.slice(half)), reasons)
  }
}
