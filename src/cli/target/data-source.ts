import { existsSync } from 'node:fs'
import { parseJson } from '../../api/values/json.js'
import type { Origins } from '../../catalogue/records/origins.js'
import type { Run } from '../../runs/journal/runs.js'
import type { AnswerSource } from '../../runs/ports.js'
import type { RecordedRequest } from '../../runs/request.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Context, DataSource, Home } from '../context/context.js'
import { storedMember } from '../context/credentials.js'
import { formatNumber } from '../output/text.js'
import { type RemoteTarget, targetIn } from './resolve-target.js'

export type { AnswerSource }

/** What a source is described by: the catalogue in a place, or a server. */
type SourceFacts =
  | { readonly home: Pick<Home, 'engine'>; readonly origins: Origins | undefined; readonly now: number }
  | { readonly server: Pick<RemoteTarget, 'baseUrl' | 'direct'>; readonly member: string | undefined }

/** Describes where answers come from. Every phrase about it is made here. */
export function describeSource(facts: SourceFacts): DataSource {
  if ('server' in facts) return describeServer(facts.server, facts.member)
  const { home, origins, now } = facts
  const place = placeOf(home)
  const { sampleCompanies = 0, ownCompanies = 0, hasOwnPeople = false, importedAt = null } = origins ?? {}
  const counts = {
    ...{ companies: ownCompanies, sample_companies: sampleCompanies },
    imported_at: importedAt === null ? null : new Date(importedAt).toISOString(),
  }
  if (!origins) return { kind: 'empty', text: `an empty catalogue ${place}`, ...counts }
  const sample = countOf(sampleCompanies, 'sample company', 'sample companies')
  if (ownCompanies === 0 && !hasOwnPeople)
    return { kind: 'practice', text: `practice data ${place} (${sample})`, ...counts }
  const details = [
    ownCompanies === 0 ? 'people only' : countOf(ownCompanies, 'company', 'companies'),
    ...(importedAt === null ? [] : [`imported ${formatDay(importedAt, now)}`]),
    ...(sampleCompanies === 0 ? [] : [`beside ${sample}`]),
  ]
  const kind = sampleCompanies === 0 ? 'own' : 'mixed'
  return { kind, text: `your catalogue ${place} (${details.join(', ')})`, ...counts }
}

function describeServer(
  { baseUrl, direct }: Pick<RemoteTarget, 'baseUrl' | 'direct'>,
  member?: string,
): DataSource {
  const text = [new URL(baseUrl).host, ...(member ? [`as ${member}`] : [])].join(' ')
  const how = direct ? ', directly' : ''
  return { kind: 'server', text: `${text}${how}`, base_url: baseUrl, member: member ?? null, direct }
}

const countOf = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** Returns a day such as `3 Nov` (UTC), with its year unless that is this one. */
function formatDay(ms: number, now: number): string {
  const [day, today] = [new Date(ms), new Date(now)]
  const isThisYear = day.getUTCFullYear() === today.getUTCFullYear()
  const year = isThisYear ? {} : ({ year: 'numeric' } as const)
  return day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC', ...year })
}

function placeOf({ engine }: Pick<Home, 'engine'>): string {
  if (!isPostgres(engine)) return 'on this machine'
  const [, authority = '', rest = ''] = /^\w+:\/\/([^/?#]*)(.*)$/s.exec(engine) ?? []
  // Behind a slash in a password nothing is a host.
  const hosts = rest.includes('@') ? '' : authority.slice(authority.lastIndexOf('@') + 1)
  return hosts === '' ? 'in a shared database' : `in the database at ${hosts}`
}

/**
 * Returns where the answers of a command come from; `undefined` where that is not known. It creates no catalogue, and
 * counts nothing. `member` is the owner of the key where the caller knows it.
 */
export async function sourceOf(context: Context, member?: string): Promise<DataSource | undefined> {
  const target = targetIn(context)
  try {
    if (target.kind === 'remote')
      return describeSource({ server: target, member: member ?? (await ownerOfKey(context, target)) })
    if (!context.isLocal()) return undefined
    return describeSource({
      home: context.home,
      origins: await readOrigins(context),
      now: context.clock.now(),
    })
  } catch {
    // What cannot be read is reported where answers are asked for, and must not end a run that is done.
    return undefined
  }
}

/** Returns where the answers of a run came from, in its last part; `undefined` where that is not recorded. */
export const sourceOfRun = ({ request }: Pick<Run, 'request'>): AnswerSource | undefined =>
  (parseJson(request) as Pick<RecordedRequest, 'source'>).source

const readOrigins = async (context: Context): Promise<Origins | undefined> =>
  (await hasCatalogue(context.home)) ? (await context.catalogue()).origins() : undefined

/**
 * Returns the real time before which the answers of a target are out of date: that of the latest import into the catalogue
 * of this machine's engine, and 0 for a server.
 */
export const answersFrom = async (context: Context): Promise<number> =>
  context.isLocal() ? ((await readOrigins(context))?.changedAt ?? 0) : 0

const ownerOfKey = async (context: Context, target: RemoteTarget): Promise<string | undefined> =>
  storedMember(context.home, target, await context.apiKey())

/** Whether there is a catalogue. To create a shared one may need more rights than to read it. */
async function hasCatalogue({ engine, catalogue }: Home): Promise<boolean> {
  if (!isPostgres(engine)) return existsSync(catalogue)
  const { findSharedCatalogue } = await import('../../storage/database/open.js')
  const found = await findSharedCatalogue(engine)
  await found?.close()
  return found !== undefined
}

/** Returns the sentence that names a source. */
export const nameSource = ({ text }: Pick<AnswerSource, 'text'>): string => `Answers come from ${text}.`

/** Names the source on stderr. */
export async function notifySource(context: Context, member?: string): Promise<void> {
  const source = await sourceOf(context, member)
  if (source) context.notify(nameSource(source))
}

/** Says why nothing can be found; `undefined` where a catalogue has more than sample data, and of a server. */
export function describeMissing(source: AnswerSource | undefined): string | undefined {
  if (source?.kind === 'empty')
    return 'The catalogue is empty. Fill it with prospect data sample or prospect data import.'
  return source?.kind === 'practice'
    ? `${nameSource(source)} All of it is invented: prospect init connects a vendor; prospect data import loads your own data.`
    : undefined
}
