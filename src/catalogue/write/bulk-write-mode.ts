import type { Driver } from '../../storage/driver/connection.js'
import type { Kind } from '../kinds/kind.js'
import { beginLoad, endLoad, type Importers, type Load, type UsualSettings } from './bulk-load.js'
import { changeSettings } from './import-pragmas.js'

// Pages of an index are written again and again: copying them to the database less often, and reading them back less
// often, is half the time.
const room = { wal_autocheckpoint: 8_000, cache_size: -32_768 }

// A power cut may undo the last transactions of an import that is not done yet. And no reference needs to be looked up
// again: whoever is referred to was found, or added, in the same transaction.
const haste = { synchronous: 1, foreign_keys: 0 }

/** Much that is written at once. */
export interface Much {
  /** Where the table was empty. */
  readonly load: Load | undefined
  /** Makes the catalogue as usual again, and what was written durable; so many records were updated. */
  end(updated: number): Promise<void>
}

/** Makes a catalogue ready for many records of a kind to be written at once. */
export async function beginMuch(
  kind: Kind,
  ports: { readonly driver: Driver; readonly importers: Importers },
): Promise<Much> {
  const { driver, importers } = ports
  const load = await beginLoad(kind, ports)
  importers.much += 1
  importers.usual ??= changed(driver)
  const usual = await importers.usual
  return {
    load,
    async end(updated) {
      importers.much -= 1
      // Of several, the last one sets them back.
      const isLast = importers.much === 0
      if (isLast) importers.usual = undefined
      try {
        if (isLast) await usual.care()
        await endLoad(driver, kind, updated)
      } finally {
        if (isLast) await usual.room()
      }
    },
  }
}

async function changed(driver: Driver): Promise<UsualSettings> {
  if (driver.dialect === 'postgres') return { room: async () => {}, care: async () => {} }
  return { room: await changeSettings(driver, room), care: await changeSettings(driver, haste) }
}
