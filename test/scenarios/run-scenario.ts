import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { widthOf } from '../../src/cli/output/width.js'
import { command, wordsOf } from '../support/command.js'
import { type Launched, launch, prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'
import { inTerminal } from '../support/terminal.js'
import type { Line, Scenario, Step } from './read-scenario.js'

/** What a command left behind. */
interface Outcome {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

/** Where a scenario runs: its own folder, and what it remembered on the way. */
interface Place {
  readonly folder: string
  /** Whether each command is a process, and not only those that a signal ends. */
  readonly inProcesses: boolean
  readonly remembered: Map<string, string>
}

/** Runs a scenario in an empty folder and answers what was not as expected, one sentence each. */
export async function runScenario(
  scenario: Scenario,
  folder: string,
  inProcesses: boolean,
): Promise<string[]> {
  const place: Place = { folder, inProcesses, remembered: new Map() }
  for (const step of scenario.steps) {
    // A database that others could read is refused before it is opened.
    for (const file of step.files) writeFileSync(join(folder, file.name), file.content, { mode: 0o600 })
    if (step.hasSample) await loadSample(join(folder, 'home'))
    if (!step.command) continue
    const outcome = await runCommand(step.command, step, place)
    const problems = step.expected.flatMap((line) => problemOf(line, outcome, place) ?? [])
    if (problems.length > 0) return [...problems, said(step.command, outcome)]
  }
  return []
}

const said = (command: Line, { exit, stdout, stderr }: Outcome): string =>
  `${command.text.trim()}\nended with exit code ${exit}\nstdout: ${stdout.slice(0, 2000)}\nstderr: ${stderr.slice(0, 2000)}`

async function runCommand(
  line: Line,
  { signal, terminal }: Pick<Step, 'signal' | 'terminal'>,
  { folder, inProcesses, remembered }: Place,
): Promise<Outcome> {
  const text = line.text.trim().replace(/\{(\w+)\}/g, (place, name: string) => remembered.get(name) ?? place)
  const words = wordsOf(text)
  const start = words.indexOf('prospect')
  if (start < 0) throw new Error(`line ${line.number}: only prospect can be run, not ${text}`)
  const own = Object.fromEntries(words.slice(0, start).map((word) => word.split('=', 2)))
  const env = { PATH: process.env.PATH ?? '', HOME: folder, PROSPECT_HOME: join(folder, 'home'), ...own }
  if (terminal) {
    const { exit, screen } = await inTerminal([process.execPath, prospect, ...words.slice(start + 1)], {
      cwd: folder,
      env,
      ...terminal,
    })
    return { exit, stdout: screen, stderr: '' }
  }
  const argv = words.slice(start + 1)
  if (!inProcesses && !signal) {
    const { code, stdout, stderr } = await command(argv, { env, cwd: folder })
    return { exit: code, stdout, stderr }
  }
  const child = launch(prospect, argv, folder, env)
  if (signal) await Promise.race([child, sendWhen(child, signal, folder)])
  const { exitCode, signal: name, stdout, stderr } = await child
  return { exit: exitCode ?? exitOf(name), stdout, stderr }
}

/** The exit code a shell shows for a process that a signal ended. */
const exitOf = (signal: NodeJS.Signals | undefined): number =>
  signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : -1

async function sendWhen(child: Launched, { name, file }: NonNullable<Step['signal']>, folder: string) {
  while (!existsSync(join(folder, file))) await sleep(5)
  child.kill(name)
}

/** What an expected line can say: a pattern, and how the rest is judged. */
const sayings: readonly [
  pattern: RegExp,
  holds: (parts: readonly string[], outcome: Outcome, place: Place) => boolean,
][] = [
  [/^exit (\d+)$/, ([code], { exit }) => exit === Number(code)],
  [/^(stdout|stderr) is empty$/, ([stream], outcome) => textOf(stream, outcome) === ''],
  [
    /^(stdout|stderr|output) says (.+)$/,
    ([stream, text = ''], outcome) => textOf(stream, outcome).includes(text),
  ],
  [
    /^(stdout|stderr) does not say (.+)$/,
    ([stream, text = ''], outcome) => !textOf(stream, outcome).includes(text),
  ],
  [
    /^no line of stdout is wider than (\d+) columns$/,
    ([columns], { stdout }) => stdout.split('\n').every((line) => widthOf(line) <= Number(columns)),
  ],
  [
    /^answer (\S+) is (.+)$/,
    ([path = '', value = ''], outcome) => same(fieldOf(outcome, path), JSON.parse(value)),
  ],
  [
    /^remember (\S+) as (\w+)$/,
    ([path = '', name = ''], outcome, { remembered }) => {
      const value = fieldOf(outcome, path)
      remembered.set(name, String(value))
      return value !== undefined
    },
  ],
  [/^file (\S+) exists$/, ([name = ''], _, { folder }) => existsSync(join(folder, name))],
  [/^file (\S+) is missing$/, ([name = ''], _, { folder }) => !existsSync(join(folder, name))],
  [/^file (\S+) says (.+)$/, ([name, text = ''], _, place) => contentOf(name, place).includes(text)],
  [/^file (\S+) does not say (.+)$/, ([name, text = ''], _, place) => !contentOf(name, place).includes(text)],
  [
    /^file (\S+) has (\d+) lines$/,
    ([name, count], _, place) => contentOf(name, place).trimEnd().split(/\r?\n/).length === Number(count),
  ],
]

function problemOf(line: Line, outcome: Outcome, place: Place): string | undefined {
  const text = line.text.trim()
  for (const [pattern, holds] of sayings) {
    const match = pattern.exec(text)
    if (match)
      return holds(match.slice(1), outcome, place) ? undefined : `line ${line.number}: not so: ${text}`
  }
  return `line ${line.number}: nobody knows how to check: ${text}`
}

const textOf = (stream: string | undefined, outcome: Outcome): string =>
  ({ stdout: outcome.stdout, stderr: outcome.stderr })[stream ?? ''] ?? outcome.stdout + outcome.stderr

function contentOf(name: string | undefined, { folder }: Place): string {
  const path = join(folder, name ?? '')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** A field of the JSON on stdout (on stderr where stdout is empty), by its dotted path. */
function fieldOf({ stdout, stderr }: Outcome, path: string): unknown {
  try {
    const step = (value: unknown, key: string): unknown => (value as Record<string, unknown> | null)?.[key]
    return path.split('.').reduce(step, JSON.parse(stdout || stderr))
  } catch {
    return undefined
  }
}
