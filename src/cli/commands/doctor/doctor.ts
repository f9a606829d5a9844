import { Refusal } from '../../../api/calls/errors.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { countOf, type Look, oneLine, widthOf } from '../../output/text.js'
import { type Check, createDoctor, type Doctor, problemOf, type Verdict } from './context.js'
import * as engine from './engine.js'
import * as machine from './machine.js'

export const doctorCommand: CommandFactory = ({ command }) =>
  command('doctor', 'Check this machine for problems, and say how to fix them; exit 13 if there are any')
    .option('--thorough', 'check databases of more than 1 GiB in full, too')
    .run(examine)

async function examine(context: Context, { options }: Invocation): Promise<void> {
  const examination = await runChecks(checks, context, createDoctor(context, options.thorough === true))
  await print(context, examination, { layout: doctorView, columns: ['name', 'status', 'text', 'hint'] })
  if (examination.ok) return
  const problems = examination.checks.filter(({ status }) => status === 'problem')
  throw new Refusal('doctor.problems', { names: [...new Set(problems.map(({ name }) => name))] })
}

export const checks: readonly Check[] = [
  { name: 'node', run: machine.nodeVersion },
  { name: 'sqlite', run: machine.sqliteVersion },
  { name: 'folders', run: machine.folders },
  { name: 'files', run: machine.privateFiles },
  { name: 'file system', run: machine.fileSystem },
  { name: 'settings', run: machine.settingsFile },
  { name: 'target', run: machine.target },
  { name: 'engine database', run: (...of) => engine.database(...of, 'engine') },
  { name: 'catalogue database', run: (...of) => engine.database(...of, 'catalogue') },
  { name: 'state database', run: (...of) => engine.database(...of, 'state') },
  { name: 'clock', run: engine.clock },
  { name: 'workspace', run: engine.workspace },
  { name: 'key', run: engine.localKey },
  { name: 'sessions', run: engine.sessions },
  { name: 'jobs', run: engine.openWork },
  { name: 'catalogue', run: engine.localData },
  { name: 'server', run: machine.server },
  { name: 'webhooks', run: machine.webhooks },
]

/** A result with the name of its check. A check may have several results. */
export interface Finding extends Verdict {
  readonly name: string
}

/** Runs the checks one after the other. A check that throws is a problem, and the others still run. Warnings leave `ok` true. */
export async function runChecks(checks: readonly Check[], context: Context, doctor: Doctor) {
  const findings: Finding[] = []
  for (const { name, run } of checks) {
    const found = await (async () => run(context, doctor))().catch(problemOf)
    for (const { status, text, hint } of [found].flat().filter((one) => !!one))
      findings.push({ name, status, text: context.redact(text), hint: hint && context.redact(hint) })
  }
  return { ok: findings.every(({ status }) => status !== 'problem'), checks: findings }
}

/** Formats the report: one line for each result, and below it what to do. */
function doctorView(body: unknown, look: Look): string {
  const { checks } = body as Awaited<ReturnType<typeof runChecks>>
  const width = Math.max(0, ...checks.map(({ name }) => widthOf(name)))
  const lines = checks.flatMap((finding) => linesOf(finding, width, look))
  const warnings = checks.filter(({ status }) => status === 'warning').length
  const problems = checks.filter(({ status }) => status === 'problem').length
  return `${[...lines, '', summary(problems, warnings)].join('\n')}\n`
}

function linesOf({ name, status, text, hint }: Finding, width: number, look: Look): string[] {
  const word = status === 'ok' ? look.dim(status) : look.bold(status)
  const first = `${word}${' '.repeat(9 - status.length)}${name.padEnd(width)}  ${oneLine(text)}`
  return hint === null ? [first] : [first, `${' '.repeat(11 + width)}→ ${oneLine(hint)}`]
}

function summary(problems: number, warnings: number): string {
  if (problems + warnings === 0) return 'Everything is in order.'
  return `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`
}
