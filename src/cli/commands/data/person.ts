import { parseExact } from '../../../api/values/json.js'
import { type Fields, isObject, resultOr } from '../../../api/values/objects.js'
import { findSubject, parseSubject } from '../../../catalogue/erasure/subject.js'
import type { Subject } from '../../../catalogue/erasure/tables.js'
import { parseProfile } from '../../../catalogue/normalize/profile.js'
import { eraseFromEngine } from '../../../engine/admin/erasure.js'
import { type Driver, type StoredRow, toRunNumber } from '../../../storage/driver/connection.js'
import { eraseFromState } from '../../../storage/erasure/erase.js'
import type { CollectRow, SubjectMatcher } from '../../../storage/erasure/traversal.js'
import { toSuppressible } from '../../../suppression/identifiers.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { findFilesWith, openExisting, openExistingCatalogue } from './databases.js'

/** A row with data of a person. */
interface HeldRow {
  readonly place: 'catalogue' | 'engine' | 'machine'
  readonly table: string
  /** When it was stored, asked or received; null where that is not recorded. */
  readonly at: string | null
  /** The run that the row belongs to; absent for others. */
  readonly run?: Fields | undefined
  /** Where it was sent. */
  readonly sent: readonly Fields[]
  /** What it says about the person: a record in which others are stored, too, without these. */
  readonly data: readonly unknown[]
}

/** All that is stored about a person. */
export interface HeldPerson {
  readonly person: string
  readonly stored: readonly HeldRow[]
  /** Files that may still have the person. */
  readonly files: readonly string[]
}

/** Returns what `data forget` would delete of a person, from the same tables. */
export async function exportPerson(context: Context, who: string): Promise<HeldPerson> {
  const given = await readPerson(context, who)
  const catalogue = await openExistingCatalogue(context)
  const { engine, runs, close } = await openExisting(context)
  try {
    const { matcher, words, eraseCatalogue } = await findSubject(catalogue, given)
    const stored: HeldRow[] = []
    const collect = async (
      place: HeldRow['place'],
      walk: (collect: CollectRow) => Promise<unknown>,
      driver?: Driver,
    ) => {
      const rows: Parameters<CollectRow>[] = []
      const result = await walk((...row) => rows.push(row))
      for (const [table, row, found] of rows) {
        const sent = driver ? await readSent(driver, table, row) : {}
        const parts = [...Object.values(row).flatMap((value) => partsAbout(matcher, value)), ...found]
        const at = toTime(row.asked_at ?? row.received_at ?? row.created_at)
        stored.push({ place, table, at, sent: [], ...sent, data: parts.length > 0 ? parts : [row] })
      }
      return result
    }
    await collect('catalogue', eraseCatalogue)
    if (engine) await collect('engine', (each) => eraseFromEngine(engine, matcher, each), engine)
    const runFiles: string[] = []
    const otherFiles: string[] = []
    for (const { database } of runs)
      await collect(
        'machine',
        async (each) => {
          const found = await eraseFromState(database, matcher, context.clock.now(), each)
          runFiles.push(...found.files)
          otherFiles.push(...found.otherFiles)
        },
        database,
      )
    return {
      person: who,
      stored,
      files: await findFilesWith(context, words, { files: runFiles, otherFiles }),
    }
  } finally {
    await catalogue?.close()
    await close()
  }
}

/** Returns the person that an address, a profile, its id, or a name with a company names. */
async function readPerson(context: Context, who: string): Promise<Subject> {
  const own = parseSubject(who)
  if (own) return own
  const profile = /^\w{20,}$/.test(who) ? parseProfile(`https://www.network.example/in/${who}`) : undefined
  if (profile) return { profile }
  const named = toSuppressible(who)
  const [name = '', domain] = named?.kind === 'person' ? named.value.split(/ at (?=\S+$)/) : []
  if (domain === undefined)
    throw new UsageError(
      `"${who}" names no person.`,
      'Give an email address, a profile or its id, or "Jane Doe at acme.example".',
    )
  const [firstName, ...rest] = name.split(/\s+/)
  const found = await (await context.catalogue()).person({ firstName, lastName: rest.join(' '), domain })
  const subject = parseSubject(found?.network_profile_url ?? found?.most_probable_email ?? '')
  if (subject) return subject
  throw new UsageError(
    `The catalogue has nobody called ${name} at ${domain}.`,
    'Give an email address or a profile: what is stored elsewhere is searched, too.',
  )
}

/** Returns the parts of a stored value that are about a person, without records of others around them. */
function partsAbout(subject: SubjectMatcher, value: unknown): readonly unknown[] {
  if (typeof value === 'string') {
    const parsed = /^[[{]/.test(value) ? resultOr(value as unknown, () => parseExact(value)) : value
    if (typeof parsed !== 'string') return partsAbout(subject, parsed)
    return subject.mentions(parsed) ? [parsed] : []
  }
  if (Array.isArray(value)) return value.flatMap((item) => partsAbout(subject, item))
  if (!isObject(value) || !subject.mentions(value)) return []
  const own = Object.fromEntries(Object.entries(value).filter(([, held]) => !Array.isArray(held)))
  const isTheirs = subject.isAbout(own) && !Object.values(own).some((held) => isObject(held))
  const parts = Object.values(value).flatMap((held) => partsAbout(subject, held))
  return isTheirs || parts.length === 0 ? [value] : parts
}

/** Returns where a row was sent, and the run that it is of. */
async function readSent(
  driver: Driver,
  table: string,
  row: StoredRow,
): Promise<Pick<HeldRow, 'sent' | 'run'> | undefined> {
  const all = (sql: string, ...values: (string | number)[]) =>
    driver.read((connection) => connection.all<StoredRow>(sql, ...values))
  if (table === 'records' || table === 'jobs') {
    const job = String(row.job_id ?? row.id)
    const place = row.ordinal === undefined ? '' : ' AND first <= ? AND last >= ?'
    const ordinal = Number(row.ordinal)
    const deliveries = await all(
      `SELECT event, url, state, finished_at FROM deliveries WHERE job_id = ?${place} ORDER BY seq`,
      ...(place === '' ? [job] : [job, ordinal, ordinal]),
    )
    return { sent: deliveries.map(({ finished_at: at, ...one }) => ({ ...one, at: toTime(at) })) }
  }
  if (table === 'provider_calls') return { sent: [{ provider: row.provider, at: toTime(row.asked_at) }] }
  if (table === 'events') {
    const forwards = await all(
      'SELECT target, state, changed_at FROM forwards WHERE seq = ?',
      Number(row.seq),
    )
    return { sent: forwards.map(({ changed_at: at, ...one }) => ({ ...one, at: toTime(at) })) }
  }
  if (table !== 'answers') return undefined
  const [run] = await all(
    'SELECT id, operation, target, file, output FROM runs WHERE number = ?',
    toRunNumber(Number(row.place)),
  )
  return { sent: run ? [{ target: run.target }] : [], ...(run && { run }) }
}

const toTime = (at: unknown): string | null =>
  at === undefined || at === null ? null : new Date(Number(at)).toISOString()

/** Returns what is stored about a person as text. */
export function formatPerson({ person, stored, files }: HeldPerson): string {
  if (stored.length === 0 && files.length === 0) return `Nothing is stored about ${person}.\n`
  const rows = stored.map(({ place, table, at, run, sent, data }) =>
    [
      [`${place} · ${table.replaceAll('_', ' ')}`, at, run && `run ${String(run.id)}`]
        .filter((part) => typeof part === 'string')
        .join(' · '),
      ...sent.map((one) => `  sent: ${linesOf(one).join(', ')}`),
      ...data.flatMap((one) => linesOf(one).map((line) => `  ${line}`)),
    ].join('\n'),
  )
  const named =
    files.length === 0 ? [] : [['Files that may have them:', ...files.map((file) => `  ${file}`)].join('\n')]
  return `${[...rows, ...named].join('\n\n')}\n`
}

/** Returns the fields of a record, one a line. */
const linesOf = (value: unknown): readonly string[] =>
  isObject(value)
    ? Object.entries(value)
        .filter(([, held]) => held !== null && held !== '')
        .map(([name, held]) => `${name}: ${typeof held === 'object' ? JSON.stringify(held) : String(held)}`)
    : [String(value)]
