import { dirname, join } from 'node:path'
import type { Run } from '../../../../storage/state/runs/runs.js'
import { grouped } from '../../../output/terminal.js'
import { elsewhere } from '../../../runs/run-folder.js'
import { counted } from '../context/counted.js'
import { quoted } from '../context/files.js'
import type { Scene } from '../context/scene.js'
import { orElse, type Verdict, warning } from '../context/verdict.js'

/** What nobody wrote to for so long is left over; milliseconds. */
const leftMs = 86_400_000
/** Most runs that are named. */
const mostNamed = 3

/** What commands left that were killed: rows of runs, folders, half-written files. */
export async function leftovers(scene: Scene): Promise<readonly Verdict[]> {
  const runs = await knownRuns(scene)
  const troubles = [
    ...(runs ? [...(await partialOutputs(scene, runs)), ...folders(scene, runs)] : []),
    ...partialFiles(scene),
  ]
  return orElse(troubles, 'Nothing is left over from commands that were stopped.')
}

async function knownRuns(scene: Scene): Promise<readonly Run[] | undefined> {
  const driver = await scene.databases.current('state')
  if (!driver) return undefined
  const { runsOver } = await import('../../../../storage/state/runs/runs.js')
  return await runsOver(driver).list()
}

/** Answered rows wait in the partial output of a run that was stopped. */
async function partialOutputs(scene: Scene, runs: readonly Run[]): Promise<readonly Verdict[]> {
  const stopped: Run[] = []
  for (const run of runs) {
    const isOpen = run.status !== 'finished' && run.output !== null
    if (isOpen && scene.files.entry(`${run.output}.partial`) && !(await scene.isUnderWay(run)))
      stopped.push(run)
  }
  const named = stopped.slice(0, mostNamed).map((run) => {
    const rows = `${grouped(run.done)} of ${grouped(run.total)} rows`
    return warning(
      `The run ${run.id} was stopped after ${rows}; they are in ${run.output}.partial.`,
      `prospect runs resume ${run.id}`,
    )
  })
  const more = stopped.length - named.length
  return more > 0
    ? [...named, warning(`${grouped(more)} more runs were stopped.`, 'prospect runs list')]
    : named
}

/** Folders of runs that nobody has on record. */
function folders(scene: Scene, runs: readonly Run[]): readonly Verdict[] {
  const folder = join(dirname(scene.home.state), 'runs')
  const known = new Set(runs.map(({ id }) => id))
  const left = scene.files
    .names(folder)
    .filter((name) => !known.has(name) && isOld(scene, join(folder, name)))
    .filter((name) => !scene.files.names(join(folder, name)).includes(elsewhere))
  if (left.length === 0) return []
  return [
    warning(
      `${counted(left.length, 'folder')} of no run in ${folder}.`,
      'Nothing to do: the next batch removes them.',
    ),
  ]
}

/** Files of ours that were about to take the place of another when their command was killed. */
function partialFiles(scene: Scene): readonly Verdict[] {
  const { home, files } = scene
  const all = [...new Set([home.config, home.catalogue, home.state].map((file) => dirname(file)))]
  const left = all.flatMap((folder) =>
    files
      .names(folder)
      .filter((name) => name.endsWith('.partial'))
      .map((name) => join(folder, name))
      .filter((path) => isOld(scene, path)),
  )
  return left.map((path) => warning(`${path} was never completed.`, `rm ${quoted(path)}`))
}

/** Whether neither it nor what is in it was written to lately. */
function isOld(scene: Scene, path: string): boolean {
  const inside = scene.files.names(path).map((name) => join(path, name))
  const times = [path, ...inside].map((each) => scene.files.entry(each)?.writtenAt ?? 0)
  return scene.clock.now() - Math.max(...times) > leftMs
}
