import { statfsSync } from 'node:fs'
import { Refusal } from '../../../api/calls/errors.js'
import { getOrMake, resultOr } from '../../../api/values/objects.js'
import {
  readVersion,
  requireUsable,
  type SchemaState,
  toSchemaState,
} from '../../../storage/database/migrate.js'
import { type Connection, type Driver, isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { withoutStop } from '../../context/errors.js'
import { statsOf } from '../../context/home.js'
import { reasonOf as describeReason, reportOf } from '../../messages.js'
import { type Target, targetIn } from '../../target/resolve-target.js'

export interface Check {
  readonly name: string
  run(context: Context, doctor: Doctor): Promise<Findings> | Findings
}

/** Creates what the checks share. It changes nothing on this machine. `thorough`: large databases are read through, too. */
export function createDoctor(context: Context, thorough: boolean) {
  const opened = new Map<Name, Promise<Database>>()
  const find = (name: Name) => getOrMake(opened, name, () => openDatabase(context, name))
  return {
    thorough,
    /** Returns the kind of a folder's file system, as `statfs` numbers it. */
    fileSystemType: (folder: string): number => statfsSync(folder).type >>> 0,
    find,
    /** Returns a database that has the schema of this program; `undefined` otherwise. */
    current: async (name: Name): Promise<Driver | undefined> => {
      const database = await find(name)
      return database.is === 'usable' && database.schema.is === 'current' ? database.driver : undefined
    },
  }
}

export type Doctor = ReturnType<typeof createDoctor>

/** `undefined` where settings or options name no target, which their checks report. */
export const chosenTarget = (context: Context): Target | undefined =>
  resultOr(undefined, () => targetIn(context))

export interface Verdict {
  /** A warning can wait. A problem makes commands fail or costs money. */
  readonly status: 'ok' | 'warning' | 'problem'
  /** One sentence, without keys and secrets. */
  readonly text: string
  /** What to do, as a command or a sentence; null when nothing is needed. */
  readonly hint: string | null
}

/** False where there is nothing to say. */
export type Found = Verdict | false | undefined

/** What a check found: one result, several, or none when it does not apply. */
export type Findings = Found | readonly Found[]

const verdict =
  (status: Verdict['status']) =>
  (text: string, hint: string | null = null): Verdict => ({ status, text, hint })

export const ok = verdict('ok')

export const warning = verdict('warning')

export const problem = verdict('problem')

/** Returns the troubles, or `fine` as the only result when there are none. */
export const orElse = (troubles: readonly Found[], fine: string): readonly Found[] =>
  troubles.some(Boolean) ? troubles : [ok(fine)]

/** Returns what a command would say where it throws this error. */
export function problemOf(error: unknown): Verdict {
  const report = reportOf(error)
  if (!report) return problem(`This could not be checked: ${reasonOf(error)}.`)
  return problem(report.error.replace(/\.?$/, '.'), report.hint || null)
}

export function refusedBy(check: () => unknown): Verdict | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return problemOf(error)
  }
}

/** Returns the reason of a failure as one line without a final full stop. */
export function reasonOf(error: unknown): string {
  const { reason } = error instanceof Refusal ? error.details : {}
  const [line = ''] = (typeof reason === 'string' ? reason : describeReason(error)).split('\n')
  return withoutStop(line.trim())
}

/** A database; only one with the schema of this program can be asked more than that. Its size is in bytes, 0 on a server. */
type Database =
  | { readonly is: 'missing' }
  | { readonly is: 'unusable'; readonly error: unknown }
  | { readonly is: 'usable'; readonly driver: Driver; readonly schema: CheckedSchema; readonly size: number }

export type Usable = Extract<Database, { readonly is: 'usable' }>

export const isFile = (location: string): boolean => location !== ':memory:' && !isPostgres(location)

async function openDatabase({ home, onClose }: Context, name: Name): Promise<Database> {
  const location = home[name]
  let driver: Driver | undefined
  let size = 0
  try {
    if (isPostgres(location)) {
      const { openPostgres } = await import('../../../storage/driver/postgres/driver.js')
      driver = await openPostgres(location)
    } else {
      const stats = statsOf(location)
      if (!stats) return { is: 'missing' }
      if (!stats.isFile()) throw new Error('it is not a file')
      const { openReadOnly } = await import('../../../storage/database/database-file.js')
      driver = openReadOnly(location)
      size = stats.size
    }
    const schema = await driver.read(checkSchema)
    onClose(() => driver?.close())
    return { is: 'usable', driver, schema, size }
  } catch (error) {
    await driver?.close()
    return { is: 'unusable', error }
  }
}

/** What the schema of a database is, and why it cannot be used, where that is so. */
export interface CheckedSchema extends SchemaState {
  /** `undefined` of one that can be used. */
  readonly refused: unknown
}

export async function checkSchema(reads: Connection): Promise<CheckedSchema> {
  const refused = await requireUsable(reads).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { ...toSchemaState(await readVersion(reads)), refused }
}

export type Name = 'engine' | 'catalogue' | 'state'
