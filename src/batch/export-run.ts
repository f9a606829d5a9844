import type { Run } from '../storage/state/runs/runs.js'
import { mapColumns } from './input/mapping.js'
import { checkTable } from './input/table.js'
import type { Report } from './output/report.js'
import { createLookup, toMappingRequest } from './plan/lookup.js'
import { execute } from './run/execute.js'
import { findRun, identifyRun, openRunInput } from './run/find-run.js'
import { noCaller, openFinishedJournal } from './run/open-journal.js'
import { openOutput } from './run/open-output.js'
import type { RunPorts } from './run/ports.js'
import { openRuns } from './run/records.js'
import type { BatchRequest } from './run/request.js'

/** A run whose answers were written. */
export interface ExportedRun {
  readonly run: Run
  readonly report: Report
  /** Whether the reader of our stdout has gone. */
  readonly isAbandoned: boolean
}

/** Writes what a run on record has answered, in the order of its rows; nothing is looked up. */
export async function exportRun(
  request: BatchRequest,
  ports: RunPorts,
  signal: AbortSignal,
): Promise<ExportedRun> {
  const records = await openRuns(ports, { database: request.database }, request.records)
  const { table } = await openRunInput(ports, request)
  const mapping = mapColumns(toMappingRequest(request, table.header))
  const lookup = createLookup(request, mapping, table.header)
  const run = await findRun(request, await identifyRun(request, ports, table, mapping), records.runs)
  if (!run) throw new Error('a run that is known was not found')
  const { rows, repeats } = await checkTable(
    table,
    (cells) => lookup.identity(lookup.input(cells)),
    lookup.skip,
  )
  const missing = { status: 'skipped', error: 'Not looked up yet' } as const
  const journal = await openFinishedJournal(records, run, missing)
  const { writer, isAbandoned } = await openOutput(ports, request, table, async () => false, false)
  const report = await execute({
    ...{ table, ...lookup, repeats, operation: request.operation.id },
    ...{ caller: noCaller, journal, writer, total: rows, signal },
    time: { now: () => ports.clock.now(), sleep: async () => {} },
  })
  return { run, report, isAbandoned: isAbandoned() }
}
