import { shapeOf } from '../../api/areas/shapes.js'
import { operations } from '../../api/operations/table.js'
import type { Together } from '../../batch/run/bulk.js'
import type { Context } from '../context/context.js'
import { readBy } from '../wait/watch-polling.js'
import type { BatchCommand } from './request.js'

/** Returns how several rows of a run, whose lock is held, go out as one request; `undefined` where each goes by itself. */
export async function bulkOptions(
  context: Context,
  { operation, globals, choices }: BatchCommand,
  run: string,
): Promise<Together | undefined> {
  const { together } = operation.batch ?? {}
  const row = operations().find(
    ({ command, flag }) => command === operation.command && flag === together?.flag,
  )
  if (!together || !row) return undefined
  const { into, least, most } = together
  const fields = Object.keys((await shapeOf(row.id)).input.shape)
  const shared = fields.filter((name) => name !== into)
  // The workers of a distributed run do all of the work that is accepted.
  const finish = choices.distribute ? async () => {} : finishHere(context, run)
  const work = context.isLocal(globals) ? { work: finish } : {}
  return { operation: row.id, reader: readBy.contact_enrichment, into, shared, least, most, ...work }
}

/** Finishes what this machine's engine accepts, unless a server or worker does so for an earlier part of the run. */
function finishHere(context: Context, run: string): (id: string, signal: AbortSignal) => Promise<void> {
  return async (id, signal) => {
    const worker = await context.worker()
    const stop = () => void worker.stop()
    signal.addEventListener('abort', stop)
    try {
      if (!signal.aborted) await worker.finish(id, undefined, run)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}
