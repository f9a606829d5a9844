import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { random, type Survived, toEnrich } from './killed-batch.js'

/** How a disk is made to fail: the command that goes before the program. */
interface Fault {
  readonly tool: 'prlimit' | 'strace'
  readonly arguments: readonly string[]
}

/** What was tried, and what became of the files. */
export interface OnBadDisks {
  readonly survived: readonly Survived[]
  readonly tried: string
  /** What is not installed here, or not permitted. */
  readonly notRun: string
}

const tools = ['prlimit', 'strace'] as const

const probes = { prlimit: ['--fsize=1000000'], strace: ['-o', '/dev/null'] }

const isUsable = async (tool: Fault['tool']): Promise<boolean> =>
  (await execa(tool, [...probes[tool], process.execPath, '--version'], { reject: false })).exitCode === 0

/**
 * Runs files while none of theirs may grow beyond a size, or writes fail from one on, so many times; a file that is
 * complete is followed by another one.
 */
export async function batchOnBadDisks(
  program: string,
  { rows, rounds, seed }: { readonly rows: number; readonly rounds: number; readonly seed: number },
): Promise<OnBadDisks> {
  const usable: Fault['tool'][] = []
  for (const tool of tools) if (await isUsable(tool)) usable.push(tool)
  const pick = random(seed)
  const counts: Record<string, number> = {}
  const survived: Survived[] = []
  const faults = Array.from({ length: usable.length > 0 ? rounds : 0 }, (_, round) =>
    faultOf(usable[round % usable.length] ?? 'prlimit', pick),
  )
  do survived.push(await survivedBy(program, rows, faults, counts))
  while (faults.length > 0)
  const tried = Object.entries(counts).map(([outcome, count]) => `${count} × ${outcome}`)
  return {
    survived,
    tried: tried.join(', '),
    notRun: tools.filter((tool) => !usable.includes(tool)).join(', '),
  }
}

/** Runs a file on one bad disk after the other until it is complete; takes those that it met away. */
async function survivedBy(
  program: string,
  rows: number,
  faults: Fault[],
  counts: Record<string, number>,
): Promise<Survived> {
  const file = await toEnrich(rows)
  const { folder, env } = file
  const words = [program, 'accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet']
  try {
    for (let fault = faults.shift(); fault; fault = faults.shift()) {
      const given = [...fault.arguments, process.execPath, ...words]
      const { exitCode } = await execa(fault.tool, given, { cwd: folder, env, reject: false })
      const outcome = `${fault.tool} with exit ${exitCode}`
      counts[outcome] = (counts[outcome] ?? 0) + 1
      if (exitCode === 0) break
      if (existsSync(join(folder, 'out.csv'))) throw new Error(`an output is there after ${outcome}`)
    }
    const last = await execa(process.execPath, words, { cwd: folder, env, reject: false })
    if (last.exitCode !== 0) throw new Error(`the last part ended with ${last.exitCode}: ${last.stderr}`)
    return await file.survived(0)
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
