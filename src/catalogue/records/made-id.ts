import type { Ids } from '../../engine/ports/ports.js'

/** Makes an id of a person in the form of the network's own; no two are the same. */
export type IdMaker = () => string

/**
 * Ids of one maker follow each other, so that the index they are found by grows in one place: at random places, each
 * transaction of a long import would write most of its pages again.
 */
export function idMaker(ids: Pick<Ids, 'bytes'>): IdMaker {
  const own = ids.bytes(14)
  const bytes = Buffer.alloc(18)
  bytes.set(own.subarray(0, 8))
  bytes.set(own.subarray(8), 12)
  let count = 0
  return () => {
    bytes.writeUInt32BE(count, 8)
    count += 1
    return `ACoAA${bytes.toString('base64url')}`
  }
}

/** Whether an id was made here: the network's own are longer. */
export const isMade = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)
