import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { nearest } from '../../../api/values/nearest.js'
import { writeTo } from '../../../runs/output/writer.js'
import type { Context } from '../../context/context.js'
import { documentsFolder } from '../../context/documents.js'
import { systemReason } from '../../context/errors.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { optionRows } from '../../options/values.js'
import { fileOf } from '../../output/output.js'
import { confirmLoss } from '../../output/prompt.js'
import { formatPath } from '../../output/text.js'

/** The flows that come with the program, all of which run over practice data. */
export const flowTemplates = [
  'lookalikes',
  'job-change',
  'inbound',
  'reactivate',
  'technology',
  'territory',
] as const

const newOptions = optionRows({ from: ['<name>', `the flow to begin with: ${flowTemplates.join(', ')}`] })

export const newCommand: CommandFactory = ({ command }) =>
  command('new', 'Write the file of a flow to begin with, which runs over practice data as it is')
    .withOptions(newOptions)
    .run(async (context, { options: { from } }) => {
      if (from === undefined) throw new Refusal('usage.no_flow', { known: flowTemplates })
      const name = flowTemplates.find((one) => one === from)
      if (name === undefined)
        throw new Refusal('usage.no_flow_template', {
          from,
          near: nearest(from, flowTemplates),
          known: flowTemplates,
        })
      await writeFlow(context, name)
    })

async function writeFlow(context: Context, name: (typeof flowTemplates)[number]): Promise<void> {
  const examples = join(documentsFolder(), 'examples')
  const written = readFileSync(join(examples, 'flows', `${name}.yaml`), 'utf8').replaceAll('\r', '')
  const text = written.replaceAll('../', '')
  const output = fileOf(context.globals)
  if (output === undefined) return writeTo(context.streams.stdout, text)
  const path = resolve(context.streams.cwd, output)
  const inputs = [...written.matchAll(/\.\.\/([\w-]+\.csv)/g)].map(([, file = '']) => file)
  if (existsSync(path) && readFileSync(path, 'utf8') !== text)
    await confirmLoss(context, `This replaces ${output}.`)
  orRefuse(output, () => writeFileSync(path, text))
  for (const input of inputs) {
    const beside = join(dirname(path), input)
    if (existsSync(beside)) continue
    orRefuse(beside, () => copyFileSync(join(examples, input), beside))
    context.notify(
      `${formatPath(beside, context.streams)}: practice rows to try it with. Put your own file in its place.`,
    )
  }
  context.notify(`Written to ${output}. Next: prospect flow quote ${output}, and prospect flow run ${output}`)
}

function orRefuse(file: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new Refusal('usage.unwritable', { file, reason: systemReason(error) })
  }
}
