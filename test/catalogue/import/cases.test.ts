import { expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import type { ImportOptions, RecordKind } from '../../../src/catalogue/kinds/kind.js'
import { casesOf } from '../../support/fixtures.js'
import { inWords } from '../../support/in-words.js'
import { bytesOf, exported, openWith } from '../open.js'

/** What is imported, in steps, and the records that are there then, by the fields that matter: null for those they lack. */
interface ImportCase {
  readonly what: string
  readonly kind: RecordKind
  readonly steps: readonly ImportStep[]
  readonly records?: readonly object[]
}

/** Records or a file, with what the report says, and the lines that are rejected with a part of the reason, or all that is. */
interface ImportStep {
  readonly take?: readonly Fields[]
  readonly file?: string
  readonly options?: ImportOptions
  readonly report?: object
  readonly refused?: string
  readonly rejected?: readonly (readonly [line: number, reason: string])[]
}

/** Companies that people, jobs and posts may be of. */
const employers = [
  { name: 'Acme Robotics GmbH', domain: 'acme.example', network_url: 'https://network.example/company/acme' },
  { name: 'Birch', network_url: 'https://network.example/company/birch' },
]

/** A record with null for each field that it lacks of another. */
const withNulls = (record: Fields, other: object = {}): Fields => ({
  ...Object.fromEntries(Object.keys(other).map((name) => [name, null])),
  ...record,
})

it.each(casesOf<ImportCase>('catalogue/import/cases'))('$what', async ({ kind, steps, records }) => {
  const catalogue = await openWith(kind === 'companies' ? [] : employers)
  for (const { take, file, options, report = {}, refused, rejected = [] } of steps) {
    const importing = take
      ? catalogue.importRecords(kind, take)
      : catalogue.importFile(kind, bytesOf(file ?? ''), options)
    if (refused !== undefined) {
      await expect(importing).rejects.toMatchObject({ details: { report } })
      await expect(inWords(() => importing)).rejects.toThrow(refused)
      continue
    }
    const done = await importing
    expect(done).toMatchObject(report)
    expect(done.rejected).toEqual(
      rejected.map(([line, reason]) => ({ line, reason: expect.stringContaining(reason) })),
    )
  }
  if (records) {
    const all = await exported(catalogue, kind)
    expect(all.map((record, at) => withNulls(record, records[at]))).toMatchObject(records)
  }
  await catalogue.close()
})
