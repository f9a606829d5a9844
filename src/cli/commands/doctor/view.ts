import { type Look, oneLine, widthOf } from '../../output/terminal.js'
import { counted } from './context/counted.js'
import type { Examination, Finding } from './examine.js'

/** `prospect doctor` for a person: a line for each check, and under it what to do. */
export function doctorView(body: unknown, look: Look): string {
  const { checks } = body as Examination
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
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`
}
