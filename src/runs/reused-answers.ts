import { compose, type Layer, type Reply } from '../api/calls/caller.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { type OperationId, operation } from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import { getOrMake, once } from '../api/values/objects.js'
import { type Driver, isPostgres } from '../storage/driver/connection.js'
import { fileLocks, holdLookups, leasesOver } from './records.js'
import { defaultMaxAgeMs } from './request.js'
import { createSingleLookups, type SingleLookupPorts, type SingleLookups } from './stored-lookups.js'

/** Whose answers a call gets: those that were paid for by the same workspace of the same target. */
interface Payer {
  readonly target: string
  readonly workspace: string
  /** Real time before which answers are out of date. */
  readonly notBefore: number
  /** Returns a stored reply as this target answers now, such as without people who were suppressed meanwhile. */
  readonly clean?: ((id: OperationId, reply: Reply) => Promise<Reply>) | undefined
}

interface ReusePorts extends Pick<SingleLookupPorts, 'isKnown' | 'names'> {
  readonly database: Driver
  /** Path or address of that database. */
  readonly state: string
  readonly clock: Clock
  readonly ids: Ids
  /** How old an answer may be; 30 days where it is absent, as for commands. */
  readonly maxAgeMs?: number | undefined
  readonly sleep: (ms: number) => Promise<unknown>
  /** Returns who pays for calls with a key; `undefined` where it is not valid. */
  readonly payerOf: (apiKey: string) => Promise<Payer | undefined>
}

/** Lets a program reuse what it, and the commands over the same state, have paid for. */
export function reusedAnswers(ports: ReusePorts) {
  const { database, state, clock, maxAgeMs = defaultMaxAgeMs, ...shared } = ports
  const now = () => clock.now() + (database.aheadMs?.() ?? 0)
  const closing: (() => Promise<void> | void)[] = []
  const home = {
    home: { state },
    clock: { now },
    ids: ports.ids,
    onClose: (work: () => Promise<void> | void) => void closing.push(work),
  }
  const isShared = isPostgres(state)
  const opened = new Map<string, SingleLookups>()
  const openFor = ({ target, workspace, notBefore, clean }: Payer): SingleLookups =>
    createSingleLookups({
      ...shared,
      clean,
      clock: home.clock,
      maxAgeMs,
      answersKeys: false,
      sleep: async (ms) => void (await ports.sleep(ms)),
      onFault: () => {},
      open: once(async () => {
        const locks = isShared ? await leasesOver(home, database) : fileLocks(home)
        const holdLock = () => holdLookups(home, isShared ? locks : undefined)
        return { database, locks, holdLock, profile: 'default', target, workspace, notBefore }
      }),
    })
  const layer: Layer = (caller) => ({
    ...caller,
    call: async (id, input, options = {}) => {
      const { apiKey, row, member } = options
      if (apiKey === undefined || row || member || maxAgeMs === 0) return caller.call(id, input, options)
      const payer = await ports.payerOf(apiKey).catch((error: unknown) => {
        if (error instanceof ApiError) return error
        throw error
      })
      if (payer instanceof ApiError) return toRefusal(payer, operation(id))
      if (!payer) return caller.call(id, input, options)
      const lookups = getOrMake(
        opened,
        JSON.stringify([payer.target, payer.workspace, payer.notBefore]),
        () => openFor(payer),
      )
      return compose([lookups.recall, lookups.keep], caller).call(id, input, options)
    },
  })
  return {
    layer,
    close: async () => {
      for (const close of closing.splice(0).reverse()) await close()
      await database.close()
    },
  }
}
