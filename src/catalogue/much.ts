import type { Driver } from '../storage/driver.js'
import type { Kind } from './kind.js'
import { beginLoad, endLoad, type Load, type Writers } from './load.js'
import { changeSettings } from './settings.js'

// Pages of an index are written again and again: copying them to the database less often, and reading them back less
// often, is half the time.
const room = { wal_autocheckpoint: 16_000, cache_size: -32_768 }

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
  ports: { readonly driver: Driver; readonly writers: Writers },
): Promise<Much> {
  const { driver, writers } = ports
  const load = await beginLoad(kind, ports)
  writers.much += 1
  writers.usual ??= changeSettings(driver, { ...room, ...haste })
  const usual = await writers.usual
  return {
    load,
    async end(updated) {
      writers.much -= 1
      // The last one of several sets it back, before its own last transactions.
      if (writers.much === 0) {
        writers.usual = undefined
        await usual()
      }
      await endLoad(driver, kind, updated)
    },
  }
}
