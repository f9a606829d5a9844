import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GlobalOptions } from '../../../src/cli/context/context.js'
import { printRecords } from '../../../src/cli/output/print.js'
import type { Row } from '../../../src/cli/output/records.js'
import { createContext } from '../../../src/cli/target/create.js'
import { streamsOf } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perTest(newFolder)

/** Returns the output for some records. */
async function printed(rows: readonly Row[], options: GlobalOptions, columns?: string[]): Promise<string> {
  const streams = streamsOf({ cwd: folder.path })
  const records = async function* () {
    yield* rows
  }
  await printRecords(createContext(streams).withGlobals(options), records, columns ? { columns } : {})
  return streams.stdout.text()
}

const numbered = (count: number): Row[] => Array.from({ length: count }, (_, id) => ({ id }))

describe('records printed one by one', () => {
  it('have a header where there are none', async () => {
    expect(await printed([], { format: 'csv' }, ['name', 'domain'])).toBe('name,domain\n')
  })

  it('prints any records as one JSON array', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }),
        async (rows) => {
          const plain = JSON.parse(JSON.stringify(rows)) as unknown
          expect(JSON.parse(await printed(rows, { format: 'json' }))).toEqual(plain)
        },
      ),
      { numRuns: tries(15, 60) },
    )
  })

  it.each([0, 1, 500, 501, 1_200])('prints all of %i records as JSON and NDJSON', async (count) => {
    const rows = numbered(count)
    expect(JSON.parse(await printed(rows, { format: 'json' }))).toEqual(rows)
    const lines = (await printed(rows, { format: 'ndjson' })).split('\n').filter(Boolean)
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows)
  })

  it('writes one CSV header with the columns of all records', async () => {
    const rows = [...numbered(600), { id: 'last', place: { city: 'Lyon' } }]
    const lines = (await printed(rows, { format: 'csv' })).trim().split('\n')
    expect(lines.length).toBe(602)
    expect([lines[0], lines[1], lines[601]]).toEqual(['id,place.city', '0,', 'last,Lyon'])
  })

  it('ends a table after a thousand records', async () => {
    const table = await printed(numbered(1_200), { format: 'table' })
    expect(table.trim().split('\n').length).toBe(1_001)
  })

  it('writes the output file when all records are complete', async () => {
    await printed(numbered(3), { output: 'all.ndjson' })
    expect(readFileSync(folder.at('all.ndjson'), 'utf8')).toBe('{"id":0}\n{"id":1}\n{"id":2}\n')
  })
})
