import { shapeOf } from '../../api/areas/shapes.js'
import { operations } from '../../api/operations/table.js'
import type { Batch } from '../../batch/run/batch.js'
import type { Context } from '../context/context.js'
import { readBy } from '../wait/watch-polling.js'
import type { Job } from './job.js'

/** How several rows of a run, whose lock is held, go out as one request; nothing where each goes by itself. */
export async function togetherOf(
  { shell, operation, globals, choices }: Job,
  run: string,
): Promise<Pick<Batch, 'together'>> {
  const { together } = operation.batch ?? {}
  const row = operations().find(
    ({ command, flag }) => command === operation.command && flag === together?.flag,
  )
  if (!together || !row) return {}
  const { into, least, most } = together
  const fields = Object.keys((await shapeOf(row.id)).input.shape)
  const { context } = shell
  const shared = fields.filter((name) => name !== into)
  // Whoever has its rows spread does none of the work: what is accepted is done by the workers.
  const doing = choices.distribute ? async () => {} : worksOf(context, run)
  const work = context.isLocal(globals) ? { work: doing } : {}
  return {
    together: { operation: row.id, reader: readBy.contact_enrichment, into, shared, least, most, ...work },
  }
}

/**
 * What this machine's engine accepts is done by this process, unless another one is at it: a server or worker, for an
 * earlier part of the run does not live any more.
 */
function worksOf(context: Context, run: string): (id: string, signal: AbortSignal) => Promise<void> {
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
