import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expectNothingLost, random, toEnrich } from '../support/killed-batch.js'
import { prospect } from '../support/processes.js'
import { grouped, listCounts, seedOf, soak, some } from './soak.js'

/** How a disk is made to fail: what goes before the program. */
interface Fault {
  readonly tool: keyof typeof probes
  readonly arguments: readonly string[]
}

const probes = { prlimit: ['--fsize=1000000'], strace: ['-o', '/dev/null'] }

const isUsable = async (tool: Fault['tool']): Promise<boolean> =>
  (await execa(tool, [...probes[tool], process.execPath, '--version'], { reject: false })).exitCode === 0

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

const rows = some(3_000, 1_000)

/** Runs a file on one bad disk after the other until it is complete. Removes the faults that it met. */
async function completeFile(faults: Fault[], counts: Map<string, number>): Promise<void> {
  const file = await toEnrich(rows)
  const { folder, env } = file
  const words = [prospect, 'accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet']
  try {
    for (let fault = faults.shift(); fault; fault = faults.shift()) {
      const given = [...fault.arguments, process.execPath, ...words]
      const { exitCode } = await execa(fault.tool, given, { cwd: folder, env, reject: false })
      const outcome = `${fault.tool} with exit ${exitCode}`
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      if (exitCode === 0) break
      if (existsSync(join(folder, 'out.csv'))) throw new Error(`an output is there after ${outcome}`)
    }
    const last = await execa(process.execPath, words, { cwd: folder, env, reject: false })
    if (last.exitCode !== 0) throw new Error(`the last part ended with ${last.exitCode}: ${last.stderr}`)
    expectNothingLost(await file.survived(0))
  } finally {
    file.remove()
  }
}

soak('P20', 'a disk that is full or broken at any point of a run loses nothing', async () => {
  const seed = seedOf()
  const pick = random(seed)
  const usable: Fault['tool'][] = []
  for (const tool of ['prlimit', 'strace'] as const) if (await isUsable(tool)) usable.push(tool)
  const [first] = usable
  if (!first) return { notRun: 'neither prlimit nor strace is usable here' }
  const faults = Array.from({ length: some(20, 4) }, (_, round) =>
    faultOf(usable[round % usable.length] ?? first, pick),
  )
  const counts = new Map<string, number>()
  while (faults.length > 0) await completeFile(faults, counts)
  return {
    tried: `files of ${grouped(rows)} rows: ${listCounts(counts)} (seed ${seed}, ${usable.join(' and ')})`,
  }
})
