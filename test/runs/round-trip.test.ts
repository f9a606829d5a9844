import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openTable } from '../../src/runs/input/table.js'
import { createLayout } from '../../src/runs/output/columns.js'
import { excel, rowFormats } from '../../src/runs/output/formats.js'
import { hostile } from '../csv/hostile.js'
import { anyCodePoint } from '../support/any-text.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { newFolder } from '../support/new-folder.js'
import { outputRow } from './fakes.js'

const folder = perFile(newFolder)

async function rowsOf(file: string): Promise<(readonly string[])[]> {
  const cells: (readonly string[])[] = []
  for await (const rows of (await openTable(file)).rows()) cells.push(...rows.map((row) => row.cells))
  return cells
}

describe('an output that is read back', () => {
  const cell = fc.oneof(
    hostile,
    fc.string({ unit: anyCodePoint, maxLength: 12 }),
    fc.constantFrom('', ' ', '+33612345678', '-1,5', '日本', '𝒜', 'a"b', 'x;y|z\tw', 'l1\r\nl2', "'q"),
  )
  // A file of text has no NUL, which is refused.
  const clean = cell.map((one) => one.replaceAll('\0', '').replace(/[\ud800-\udfff]/gu, ''))
  const table = fc
    .integer({ min: 1, max: 5 })
    .chain((width) =>
      fc.array(fc.array(clean, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
    )
  const dialects = fc.constantFrom({}, excel('fr_FR'), excel('en_US'), { delimiter: '\t' })

  test('has the same cells, whatever they contain, in any dialect', async () => {
    await fc.assert(
      fc.asyncProperty(table, dialects, async (rows, dialect) => {
        const header = (rows[0] ?? []).map((_, at) => `c${at}`)
        const format = rowFormats.csv.create(createLayout(header, []), dialect)
        const written = rows.map((cells) => outputRow(cells))
        const file = folder.file(format.head + format.rows(written))
        const read = await rowsOf(file)
        expect(read.map((cells) => cells.slice(0, header.length))).toEqual(rows)
      }),
      { numRuns: tries(75, 300) },
    )
  })
})
