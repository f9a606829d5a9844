import type { Ids } from '../engine/ports.js'

/** An id of a person in the form of the network's own. */
export const makeId = (ids: Pick<Ids, 'bytes'>): string =>
  `ACoAA${Buffer.from(ids.bytes(18)).toString('base64url')}`

/** Whether an id was made here: the network's own are longer. */
export const isMade = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)
