import { beforeEach, describe, expect, it } from 'vitest'
import { kinds } from '../../../src/catalogue/kinds/kind.js'
import { perTest } from '../../support/each.js'
import { bytesOf, exported, loadPart, openEmpty } from '../open.js'

describe('an export of a catalogue', () => {
  const catalogue = perTest(openEmpty)
  const copy = perTest(openEmpty)
  beforeEach(() => loadPart(catalogue))

  it('can be imported unchanged', async () => {
    for (const kind of kinds) {
      const records = await exported(catalogue, kind)
      const file = records.map((record) => JSON.stringify(record)).join('\n')
      const report = await copy.importFile(kind, bytesOf(file, 60_000))
      expect(report).toMatchObject({
        added: records.length,
        updated: 0,
        companies: 0,
        rejectedTotal: 0,
        ignored: [],
      })
      expect(await exported(copy, kind)).toEqual(records)
    }
    expect(await copy.stats()).toEqual(await catalogue.stats())
  })

  it('changes nothing when it is imported where it came from', async () => {
    for (const kind of kinds) {
      const records = await exported(catalogue, kind)
      expect(await catalogue.importRecords(kind, records)).toMatchObject({
        added: 0,
        updated: records.length,
      })
      expect(await exported(catalogue, kind)).toEqual(records)
    }
  })
})
