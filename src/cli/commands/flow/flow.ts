import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { flowFiles } from '../../../flows/inputs.js'
import { type Flow, type FlowProblem, readFlow } from '../../../flows/read.js'
import { listPorts } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { reportOf } from '../../messages.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { formatPath, oneLine } from '../../output/text.js'

/** `prospect flow`: a chain of lookups in one file. */
export const flowCommand: CommandFactory = ({ group }) =>
  group('flow', 'A whole prospecting workflow in one file', [checkCommand])

const checkCommand: CommandFactory = ({ command }) =>
  command('check', 'Check a flow, and send nothing')
    .argument('<file>', 'the file of the flow')
    .run(async (context, { args: [file = ''] }) => {
      const { flow } = await openFlow(context, file)
      const count = flow.steps.length
      const steps = flow.steps.map(({ name }) => name).join(', ')
      context.notify(
        oneLine(`${flow.name}: ${count} ${count === 1 ? 'step' : 'steps'} (${steps}). Nothing is wrong.`),
      )
      return exitCodes.ok
    })

/** Reads a flow. Says everything that is wrong with it, and throws then. */
export async function openFlow(
  context: Context,
  file: string,
): Promise<{ readonly path: string; readonly flow: Flow }> {
  const path = resolve(context.streams.cwd, file)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      error.code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read (${error.code}).`,
      'Give the file of a flow, such as leads.yaml.',
    )
  })
  const { flow, problems } = await readFlow(text, flowFiles(listPorts(context), path))
  if (flow) return { path, flow }
  for (const problem of problems) context.notify(describeProblem(formatPath(path, context.streams), problem))
  const count = problems.length
  throw new UsageError(`${file} has ${count === 1 ? 'a mistake' : `${count} mistakes`}. Nothing was sent.`)
}

/** Returns what is wrong with a flow, and where, as one line. */
function describeProblem(file: string, { line, column, step, refusal }: FlowProblem): string {
  const report = reportOf(refusal)
  if (!report) throw refusal
  const where = step === undefined ? '' : `step ${step}: `
  return oneLine(`${file}:${line}:${column}: ${where}${report.error} ${report.hint}`.trim())
}
