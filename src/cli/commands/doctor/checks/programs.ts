import { reasonOf } from '../context/reason.js'
import type { Scene } from '../context/scene.js'
import { ok, problem, type Verdict } from '../context/verdict.js'

/** The oldest Node that this program runs on. */
const oldest = [20, 19] as const

/** Whether Node is new enough. */
export function nodeVersion({ node }: Scene): readonly Verdict[] {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isEnough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
  if (isEnough) return [ok(`Node ${node} is new enough.`)]
  return [
    problem(`Node ${node} is too old: ${oldest.join('.')} or newer is needed.`, 'Install a newer Node.'),
  ]
}

/** Whether SQLite can be loaded, and keeps files whole that several processes write. */
export async function sqliteVersion(scene: Scene): Promise<readonly Verdict[]> {
  const hint = 'Install the packages again: npm rebuild better-sqlite3'
  try {
    // Loaded here, so that all the rest is looked at where it cannot be.
    const { checkVersion } = await import('../../../../storage/driver/sqlite/driver.js')
    const version = await scene.sqlite()
    checkVersion(version)
    return [ok(`SQLite ${version} is new enough.`)]
  } catch (error) {
    return [problem(`SQLite cannot be used: ${reasonOf(error)}.`, hint)]
  }
}
