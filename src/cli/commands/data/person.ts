import { Refusal } from '../../../api/calls/errors.js'
import { type Fields, isObject } from '../../../api/values/objects.js'
import { openCatalogue } from '../../../catalogue/catalogue.js'
import { findSubject, parseSubject } from '../../../catalogue/erasure/subject.js'
import type { Subject } from '../../../catalogue/erasure/tables.js'
import { toSuppressible } from '../../../catalogue/suppression/identifiers.js'
import { openEngineDatabase } from '../../../engine/tables/schema.js'
import { type FilePlaces, type FoundFiles, findFilesWith } from '../../../erasure/files.js'
import { collectPerson, completePerson, type FoundPerson } from '../../../erasure/person.js'
import { parseProfile } from '../../../identity/profile.js'
import { fileLocks, leasesOver, type RunRecords, runFolders } from '../../../runs/records.js'
import { findCatalogueDatabase, isShared } from '../../../storage/database/open.js'
import { type Driver, isPostgres } from '../../../storage/driver/connection.js'
import { findShared, openState } from '../../../storage/state/open.js'
import type { Context, Machine } from '../../context/context.js'
import { foldersOf } from '../../context/home.js'
import { isThere } from '../../context/open-databases.js'

/** Returns what `data forget` would delete of a person, from the same tables. */
export async function exportPerson(context: Context, who: string) {
  const subject = await readPerson(context, who)
  return findEverywhere(context, subject, async (found) => {
    const { stored, state } = await collectPerson(found, context.clock.now())
    return { person: who, stored, ...(await findFilesWith(await placesOf(context), found.words, state)) }
  })
}

/** Opens what exists on this machine, and finds a person in its catalogue. All is closed after the work. */
export async function findEverywhere<T>(
  context: Context,
  subject: Subject,
  work: (found: FoundPerson, state: Driver | undefined) => Promise<T>,
): Promise<T> {
  const catalogue = await openExistingCatalogue(context)
  const { engine, state, runs, close } = await openExisting(context)
  try {
    const person = await findSubject(catalogue, subject)
    const databases = { engine, runs: runs.map(({ database }) => database) }
    return await work(await completePerson({ ...databases, ...person }, context.clock.now()), state)
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
  if (domain === undefined) throw new Refusal('usage.no_person', { who })
  const [firstName, ...rest] = name.split(/\s+/)
  const found = await (await context.catalogue()).person({ firstName, lastName: rest.join(' '), domain })
  const subject = parseSubject(found?.network_profile_url ?? found?.most_probable_email ?? '')
  if (subject) return subject
  throw new Refusal('usage.nobody', { name, domain })
}

export function formatPerson({ person, stored, ...found }: Awaited<ReturnType<typeof exportPerson>>): string {
  if (stored.length === 0 && found.files.length === 0) return `Nothing is stored about ${person}.\n`
  const rows = stored.map(({ place, table, at, run, sent, data }) => {
    const head = [place, table.replaceAll('_', ' '), at, run && `run ${String(run.id)}`].filter(Boolean)
    return [
      head.join(' · '),
      ...sent.map((one) => `  sent: ${linesOf(one).join(', ')}`),
      ...data.flatMap((one) => linesOf(one).map((line) => `  ${line}`)),
    ].join('\n')
  })
  const named = formatFiles(found).join('\n')
  return `${[...rows, named].filter(Boolean).join('\n\n')}\n`
}

export function formatFiles({ files, found_in }: FoundFiles): string[] {
  const others = files.filter((file) => !found_in.includes(file))
  const list = (head: string, some: readonly string[]) =>
    some.length === 0 ? [] : [head, ...some.map((file) => `  ${file}`)]
  const contain = list('These files contain their address, number or profile:', found_in)
  return [...contain, ...list('These files of the same runs do not, but may have the name:', others)]
}

const linesOf = (value: unknown): readonly string[] =>
  isObject(value)
    ? Object.entries(value as Fields)
        .filter(([, held]) => held !== null && held !== '')
        .map(([name, held]) => `${name}: ${typeof held === 'object' ? JSON.stringify(held) : String(held)}`)
    : [String(value)]

export type ExistingDatabases = Awaited<ReturnType<typeof openExisting>>

/** Opens the databases of this machine; those that do not exist are `undefined`. It creates none. */
export async function openExisting(context: Context) {
  const { home, clock } = context
  context.prepareHome()
  const engine = isThere(home.engine) ? await openEngineDatabase(home.engine) : undefined
  const state = isThere(home.state) ? await openState(home.state) : undefined
  const shared = isPostgres(home.engine)
    ? await findShared(home.engine, { now: () => clock.now() })
    : undefined
  /** Every database with runs: that of this machine, and that of an engine on a server, which machines share. */
  const runs: Pick<RunRecords, 'database' | 'locks' | 'address'>[] = [
    ...(state ? [{ database: state, locks: fileLocks(context), address: undefined }] : []),
    ...(shared ? [{ database: shared, locks: await leasesOver(context, shared), address: home.engine }] : []),
  ]
  const close = async () => {
    for (const database of [engine, state, shared]) await database?.close()
  }
  return { engine, state, runs, close }
}

/** Opens the catalogue; `undefined` when there is none. */
async function openExistingCatalogue({ home, clock, ids }: Context): Promise<Driver | undefined> {
  const catalogue = await findCatalogueDatabase(home)
  if (catalogue) await openCatalogue(catalogue, { clock, ids })
  return catalogue
}

/** Where this machine has files. A catalogue file is not in use where the catalogue is on a server. */
export async function placesOf(context: Machine): Promise<FilePlaces> {
  const { home } = context
  return {
    folders: [...foldersOf(home), ...(await runFolders(context))],
    databases: [
      { file: home.catalogue, isInUse: !isShared(home) },
      { file: home.engine, isInUse: true },
      { file: home.state, isInUse: true },
    ],
  }
}
