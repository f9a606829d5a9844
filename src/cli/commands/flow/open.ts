import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { standIn } from '../../../flows/chain.js'
import { flowFiles } from '../../../flows/inputs.js'
import { type FlowProblem, readFlow } from '../../../flows/read.js'
import type { BatchCommand } from '../../batch/request.js'
import { listPorts } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { readText } from '../../context/io.js'
import { reportOf } from '../../messages.js'
import { formatPath, oneLine } from '../../output/text.js'
import { openVendorSearch } from './ports.js'

/** Returns the place of the runs of a flow, as a batch has one. */
export async function placeOf({ database }: { readonly database?: string | undefined }) {
  const asked: Pick<BatchCommand, 'database' | 'databaseOption'> = database === undefined ? {} : { database }
  return { ...asked, ...(await standIn()) }
}

/** Reads a flow. Says everything that is wrong with it, and throws then. */
export async function openFlow(context: Context, file: string) {
  const path = resolve(context.streams.cwd, file)
  if (!existsSync(path)) throw new Refusal('usage.flow_file', { file })
  const text = await readText(context.streams, path)
  const sources = await context.hasVendors()
  const openSearch = async (provider: string) => {
    const { of, query, fields } = (await openVendorSearch(context, provider)).search
    return { about: of, query, fields }
  }
  const files = { ...flowFiles(listPorts(context), path), sources, openSearch }
  const { flow, problems } = await readFlow(text, files)
  if (flow) return { path, flow }
  const lines = problems.map((problem) => describeProblem(formatPath(path, context.streams), problem))
  // What is wrong is the error itself where nothing else is said, or heard.
  if (context.globals.quiet || context.take) throw new UsageError(lines.join(' '), 'Nothing was sent.')
  for (const line of lines) context.notify(line)
  const count = lines.length
  throw new Refusal('usage.flow_mistakes', {
    file,
    mistakes: count === 1 ? 'a mistake' : `${count} mistakes`,
  })
}

function describeProblem(file: string, { line, column, step, refusal }: FlowProblem): string {
  const report = reportOf(refusal)
  if (!report) throw refusal
  const where = step === undefined ? '' : `step ${step}: `
  return oneLine(`${file}:${line}:${column}: ${where}${report.error} ${report.hint}`.trim())
}
