import { describeMapping } from '../../batch/input/mapping.js'
import type { BatchDialog } from '../../batch/ports.js'
import type { KnownRun } from '../../batch/run/find-run.js'
import type { Context } from '../context/context.js'
import { progressText, startProgress } from '../output/progress.js'
import { credited, grouped } from '../output/text.js'
import { confirmQuote } from '../quote/show.js'
import { workersText } from './distributed.js'
import { chooseMapping } from './map-columns.js'
import { countRows } from './report.js'
import type { BatchCommand } from './request.js'

/** Returns how a batch is shown, and a person asked, on the command line. */
export function createDialog(context: Context, { choices, globals, shape }: BatchCommand): BatchDialog {
  const notify = (text: string) => context.notify(text, globals)
  return {
    chooseMapping: (request) => chooseMapping(context, globals, choices, request, shape.input),
    showMapping: (mapping) => describeMapping(mapping).forEach(notify),
    showKnownRun: (run) => notify(describeKnownRun(run)),
    showRagged: (rows, firstLine) =>
      notify(
        rows === 1
          ? `The row on line ${firstLine} has more or fewer cells than the header.`
          : `${grouped(rows)} rows have more or fewer cells than the header; the first is on line ${firstLine}.`,
      ),
    confirm: async (quote) => confirmQuote(context, quote, globals),
    showCounting: () => startProgress(context, globals, ({ rows }) => `${grouped(rows)} rows counted`),
    showProgress: (workers) =>
      startProgress(context, globals, (step, elapsedMs) => {
        const count = workers()
        return `${progressText(step, elapsedMs)}${count === undefined ? '' : ` · ${workersText(count)}`}`
      }),
  }
}

/** Says what an earlier part of a run has done. */
function describeKnownRun({ id, done, total, status, credits, onlyUnknown }: KnownRun): string {
  if (onlyUnknown) return `Run ${id} is finished: only its rows with an unknown outcome are sent again.`
  return status === 'finished'
    ? `Run ${id} is finished: its output is written again, and nothing is spent. --fresh starts a new run.`
    : `Going on with run ${id}: ${grouped(done)} of ${countRows(total)} are answered, ${credited(credits)} paid.`
}
