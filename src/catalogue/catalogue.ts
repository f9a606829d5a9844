import type { Clock, CompanyQuery, Ids, Source } from '../api/ports/ports.js'
import type { Awaitable, Fields } from '../api/values/objects.js'
import { migrate, prepareDatabase } from '../storage/database/migrate.js'
import type { Connection, Driver } from '../storage/driver/connection.js'
import { exportRecords, readRecord } from './export/export.js'
import type { ImportOptions, RecordKind } from './kinds/kind.js'
import {
  countAll,
  countIndustries,
  findHeadcount,
  findJobs,
  findReachable,
  findTitles,
  matchEmail,
  matchPerson,
} from './lookup/lookups.js'
import { createProviders } from './lookup/providers.js'
import { findLocations } from './places/place.js'
import { type CompanyMatch, matchCompany, toAccount } from './records/match-company.js'
import { type Origin, readOrigins } from './records/origins.js'
import { type FoundPerson, toPerson } from './records/person.js'
import { describeSources, readSources } from './records/sources.js'
import { findTechnologies, findTechnologyUses } from './records/technologies.js'
import { catalogueSchema } from './schema/schema.js'
import { findUnknownCompanies } from './search/conditions.js'
import { findMissing, type StoredValue } from './search/missing.js'
import { countProfiles } from './search/people.js'
import { countRecords, findRecords } from './search/searches.js'
import { decodeSearchUrl, encodeSearchUrl } from './search-url/decode.js'

/** The local data behind the engine: companies, people, jobs, technologies and posts in one database. */
export type Catalogue = ReturnType<typeof createCatalogue>

/** Opens the catalogue in a database, which `close` closes, and creates its tables where there are none. Throws when its schema is newer. */
export async function openCatalogue(
  driver: Driver,
  ports: { readonly clock: Clock; readonly ids: Ids },
): Promise<Catalogue> {
  return createCatalogue(await prepareDatabase(driver, () => migrate(driver, catalogueSchema)), ports)
}

function createCatalogue(driver: Driver, { clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
  const ports = { driver, clock, ids }
  const withCompany = <T>(
    query: CompanyQuery,
    ask: (connection: Connection, company: CompanyMatch) => Awaitable<T>,
  ): Promise<T | undefined> =>
    driver.read(async (connection) => {
      const company = await matchCompany(connection, query)
      return company && ask(connection, company)
    })
  const readPerson = (find: (connection: Connection) => Promise<FoundPerson | undefined>) =>
    driver.read(async (connection) => {
      const person = await find(connection)
      return person && toPerson(person)
    })
  return {
    company: (query) =>
      withCompany(query, async (connection, company) => ({
        ...toAccount(company.record),
        ...(await describeSources(connection, company)),
      })),
    stack: (query) => withCompany(query, findTechnologyUses),
    headcount: (query, departments) =>
      withCompany(query, (connection, company) => findHeadcount(connection, company, departments)),
    countProfiles: (query, filters) =>
      withCompany(query, (connection, company) => countProfiles(connection, company, filters)),
    jobs: (query, filters, limit, now) =>
      withCompany(query, (connection, company) => findJobs(connection, company, filters, limit, now)),
    person: (query) => readPerson((connection) => matchPerson(connection, query)),
    personByEmail: (email) => readPerson((connection) => matchEmail(connection, email)),
    reachable: (numbers) => driver.read((connection) => findReachable(connection, numbers)),
    technologies: (query, limit) => driver.read((connection) => findTechnologies(connection, query, limit)),
    count: (search, now) => driver.read((connection) => countRecords(connection, search, now)),
    find: (search, span) => driver.read((connection) => findRecords(connection, search, span)),
    unknownCompanies: (filters) => driver.read((connection) => findUnknownCompanies(connection, filters)),
    searchAt: decodeSearchUrl,
    urlOf: encodeSearchUrl,
    locations: findLocations,
    titlesLike: (title, limit) => driver.read((connection) => findTitles(connection, title, limit)),
    providers: () => createProviders(driver),
    /**
     * Adds or updates the records of a CSV or NDJSON file given as bytes. Commits as it goes; a rejected line changes
     * nothing. Throws a Refusal, with the `report` until then, when the rest of the file cannot be read.
     */
    importFile: async (kind: RecordKind, bytes: AsyncIterable<Uint8Array>, options: ImportOptions = {}) =>
      // Reading files is loaded with the first file.
      (await import('./import/import.js')).importFile(kind, bytes, options, { ...ports, origin: 'own' }),
    /** Finds out what importing a file would do, and changes nothing but `scratch`, an empty SQLite database. */
    previewFile: async (
      kind: RecordKind,
      bytes: AsyncIterable<Uint8Array>,
      options: ImportOptions,
      scratch: Driver,
    ) => {
      await migrate(scratch, catalogueSchema)
      await scratch.set('foreign_keys = 0')
      return (await import('./import/import.js')).previewFile(kind, bytes, options, ports, scratch)
    },
    /** Adds or updates records that already carry field names; the same as a file of them. */
    importRecords: async (
      kind: RecordKind,
      records: Iterable<Fields> | AsyncIterable<Fields>,
      origin: Origin = 'own',
    ) => (await import('./import/import.js')).importRecords(kind, records, { ...ports, origin }),
    /** Removes the records of the sample that own data says nothing about. */
    removeSample: async () =>
      (await import('./import/remove-sample.js')).removeSample(driver, ids, clock.now()),
    /** Returns where the records came from, without counting them; `undefined` where there are none. */
    origins: () => driver.read(readOrigins),
    /** Returns those of some values that no record has. */
    missing: <V extends StoredValue>(values: readonly V[]) =>
      driver.read((connection) => findMissing(connection, values)),
    stats: () => driver.read(countAll),
    /** The open data that companies were imported from, with how many it says something about. */
    sources: () => driver.read(readSources),
    /** Removes what a set of open data says; with a dry run it only counts. */
    forgetSource: async (name: string, isDryRun: boolean, onProgress?: (done: number) => void) =>
      (await import('./import/forget-source.js')).forgetSource(
        driver,
        ids,
        name,
        clock.now(),
        isDryRun,
        onProgress,
      ),
    industries: () => driver.read(countIndustries),
    /** All records of a kind, oldest first; `importFile` takes them back unchanged as NDJSON. */
    exportRecords: (kind: RecordKind): AsyncIterable<Fields> => exportRecords(driver, kind),
    /** Returns a company by its `id`, or a person by the `network_id` of a search, in the format of an import. */
    record: (kind: 'companies' | 'people', id: string) =>
      driver.read((connection) => readRecord(connection, kind, id)),
    close: () => driver.close(),
  } satisfies Source & Record<string, unknown>
}
