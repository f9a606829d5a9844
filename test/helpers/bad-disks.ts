import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { random, type Survived, toEnrich } from './killed-batch.js'

/** How a disk is made to fail: the command that goes before the program. */
interface Fault {
  readonly tool: 'prlimit' | 'strace'
  readonly arguments: readonly string[]
}

/** What was tried, and what became of the run. */
export interface OnBadDisks {
  readonly survived: Survived
  readonly tried: string
  /** What is not installed here. */
  readonly notRun: string
}

const tools = ['prlimit', 'strace'] as const

const isInstalled = async (tool: Fault['tool']): Promise<boolean> =>
  (await execa(tool, ['--version'], { reject: false })).exitCode === 0

/** Runs a file again and again while no file may grow beyond a size, or writes fail from one on; then lets it end. */
export async function batchOnBadDisks(
  program: string,
  { rows, rounds, seed }: { readonly rows: number; readonly rounds: number; readonly seed: number },
): Promise<OnBadDisks> {
  const file = await toEnrich(rows)
  const { folder, env } = file
  const installed: Fault['tool'][] = []
  for (const tool of tools) if (await isInstalled(tool)) installed.push(tool)
  const pick = random(seed)
  const words = [program, 'accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet']
  const counts: Record<string, number> = {}
  try {
    for (let round = 0; round < rounds; round++) {
      const tool = installed[round % installed.length]
      if (tool === undefined) break
      const { arguments: given } = faultOf(tool, pick)
      const { exitCode } = await execa(tool, [...given, process.execPath, ...words], {
        ...{ cwd: folder, env, reject: false },
      })
      const outcome = `${tool} with exit ${exitCode}`
      counts[outcome] = (counts[outcome] ?? 0) + 1
      if (exitCode === 0) break
      if (existsSync(join(folder, 'out.csv'))) throw new Error(`an output is there after ${outcome}`)
    }
    const last = await execa(process.execPath, words, { cwd: folder, env, reject: false })
    if (last.exitCode !== 0) throw new Error(`the last part ended with ${last.exitCode}: ${last.stderr}`)
    const tried = Object.entries(counts).map(([outcome, count]) => `${count} × ${outcome}`)
    return {
      survived: await file.survived(0),
      tried: tried.join(', '),
      notRun: tools.filter((tool) => !installed.includes(tool)).join(', '),
    }
  } finally {
    file.remove()
  }
}

function faultOf(tool: Fault['tool'], pick: (below: number) => number): Fault {
  if (tool === 'prlimit') return { tool, arguments: [`--fsize=${100_000 + pick(700_000)}`] }
  const error = pick(2) === 0 ? 'ENOSPC' : 'EIO'
  const call = ['pwrite64', 'write', 'fdatasync', 'fsync'][pick(4)] ?? 'write'
  const from = call === 'pwrite64' ? 20 + pick(400) : 1 + pick(12)
  // What else is written is no file: a failure there ends any program.
  const only = call === 'write' ? ['-P', 'out.csv.partial'] : []
  const inject = `inject=${call}:error=${error}:when=${from}+`
  return { tool, arguments: ['-f', '-qq', '-o', '/dev/null', ...only, '-e', inject] }
}
