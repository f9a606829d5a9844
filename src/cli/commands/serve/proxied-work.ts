import { isOk, type Reply } from '../../../api/calls/caller.js'
import type { Layer } from '../../../api/calls/compose.js'
import type { WireNames } from '../../../api/calls/wire-names.js'
import { isPriced } from '../../../api/operations/facts.js'
import { type Operation, type OperationId, operation, operations } from '../../../api/operations/table.js'
import { isObject } from '../../../api/values/objects.js'
import { eventOf } from '../../../api/webhooks/events.js'
import type { Delivery } from '../../../http/inbox.js'
import type { PassedRecord, PassedWork } from '../../../storage/state/proxied-work.js'
import type { Context, GlobalOptions, HomeContext } from '../../context/context.js'
import { prepareHome } from '../../context/home.js'
import { once } from '../../context/once.js'
import type { Row } from '../../output/records.js'
import { profileName, targetName } from '../../target/resolve-target.js'
import { keyOf } from '../../wait/gather-deliveries.js'
import { parseDelivery } from '../../wait/parse-delivery.js'
import { creditsOf } from '../../wait/progress.js'

/** Puts on record what work behind a proxy costs, as its results pass: by webhook, or where they are asked for. */
export interface PassedSpending {
  /** Notes the work that a server accepts, and records the cost of the results in its replies. */
  readonly accounted: Layer
  /** Counts what a delivery carries of the work that an operation started. */
  delivered(started: string | undefined, delivery: Delivery): Promise<void>
}

/** Makes what counts passing results; what cannot be put on record is told, and passes all the same. */
export function passedSpending(
  context: Context,
  names: WireNames | undefined,
  options: GlobalOptions,
): PassedSpending {
  const work = once(() => openPassedWork(context))
  const profile = profileName(context, options)
  const targeted = once(() => targetName(context, options))
  const told = async (doing: () => Promise<void>) => {
    try {
      await doing()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      context.notify(`What passed is missing in prospect ledger: ${reason}`, options)
    }
  }
  const count = async (id: OperationId, records: readonly PassedRecord[]) => {
    const paid = records.filter(({ credits }) => credits > 0)
    if (paid.length > 0)
      await (await work()).count(
        { profile, target: await targeted(), operation: id },
        paid,
        context.clock.now(),
      )
  }
  const note = async (row: Operation, reply: Reply, asked: unknown) => {
    const target = await targeted()
    if (row.starts && isPriced(row)) {
      const ids = idsIn(reply.body)
      if (ids.length > 0) await (await work()).start(target, ids, row.id, context.clock.now())
    } else if (tellsResults(row)) {
      for (const result of contactsIn(reply.body)) {
        const ids = [result.enrichment_id, asked].filter((id) => typeof id === 'string')
        const started = await (await work()).operationOf(target, ids)
        if (started !== undefined) await count(started as OperationId, [paidContact(result)])
      }
    }
  }
  return {
    accounted: (caller) => ({
      ...caller,
      call: async (id, input, call) => {
        const reply = await caller.call(id, input, call)
        if (isOk(reply)) await told(() => note(operation(id), reply, input.id))
        return reply
      },
    }),
    delivered: (started, delivery) =>
      told(async () => {
        const row = operations().find(({ id }) => id === started)
        if (row && isPriced(row)) await count(row.id, recordsIn(row, delivery, names))
      }),
  }
}

async function openPassedWork(context: HomeContext): Promise<PassedWork> {
  prepareHome(context.home)
  const { openState } = await import('../../../storage/state/open.js')
  const { passedWorkOver } = await import('../../../storage/state/proxied-work.js')
  const database = await openState(context.home.state)
  context.onClose(() => database.close())
  return passedWorkOver(database)
}

/** Ids of the work that a reply tells of; of a bulk enrichment those of its contacts too. */
function idsIn(body: unknown): readonly string[] {
  if (!isObject(body)) return []
  const ids = [body.id, body.enrichment_id, ...listIn(body.contacts).map(({ enrichment_id: id }) => id)]
  return ids.filter((id) => typeof id === 'string')
}

const tellsResults = ({ id }: Operation): boolean => id === 'contacts.get' || id === 'contacts.get_enrichment'

/** The finished contacts in a reply: one, or all of a bulk enrichment. */
const contactsIn = (body: unknown): readonly Row[] =>
  (isObject(body) && Array.isArray(body.contacts) ? listIn(body.contacts) : listIn([body])).filter(
    ({ status, enrichment_id: id }) => status === 'finished' && typeof id === 'string',
  )

const paidContact = (result: Row): PassedRecord => ({
  record: `contact ${result.enrichment_id}`,
  credits: creditsOf({ operation: operation('contacts.enrich'), kind: 'contact_enrichment' }, result),
})

/** What a delivery carries, each record by what it is known by wherever it passes. */
function recordsIn(
  row: Operation,
  delivery: Delivery,
  names: WireNames | undefined,
): readonly PassedRecord[] {
  const kind = eventOf(row.id)
  if (kind === undefined) return []
  const { found } = parseDelivery(kind, delivery, names)
  return found.map((one) => {
    const isContact = kind === 'contact_enrichment' && typeof one.record.enrichment_id === 'string'
    if (isContact) return paidContact(one.record)
    const credits = creditsOf({ operation: row, kind }, one.record)
    return { record: `${delivery.search ?? delivery.path} ${keyOf(one)}`, credits }
  })
}

const listIn = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isObject) : [])
