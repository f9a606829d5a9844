import type { Name, Readable, Served } from '../context/databases.js'
import { sizeText } from '../context/files.js'
import { reasonOf } from '../context/reason.js'
import type { Scene } from '../context/scene.js'
import { ok, problem, type Verdict, warning } from '../context/verdict.js'

/** Larger ones take long to read through, and are only where that is asked for; bytes. */
const large = 1_073_741_824

/** What to do where a database is damaged. */
const mending: Readonly<Record<Name, string>> = {
  engine: 'Put a backup in its place: prospect engine restore FILE',
  catalogue: 'Move it away and import your data again: prospect data import companies FILE',
  state: 'Move it away: runs and received events of this machine are lost with it.',
}

/** Whether a database can be read, has the schema of this program, and is sound. */
export async function database(scene: Scene, name: Name): Promise<readonly Verdict[]> {
  const path = scene.home[name]
  const found = await scene.databases.find(name)
  switch (found.is) {
    case 'missing':
      return [ok(`${path} is not there yet; the first command that needs it makes it.`)]
    case 'elsewhere':
      return [warning(`The database of the ${name} is not a file of this machine, and is not looked at.`)]
    case 'unreachable':
      return [problem(`${found.reason}.`, 'Check that it runs, and its address in PROSPECT_DATABASE_URL.')]
    case 'served':
      return serverTroubles(found)
    case 'unreadable':
      return [problem(`${path} cannot be read: ${found.reason}.`, mending[name])]
    default:
      return [...schemaTroubles(path, found), ...soundness(scene, name, found)]
  }
}

function serverTroubles({ schema, newest }: Extract<Served, { is: 'served' }>): readonly Verdict[] {
  const about = `The database of the engine is on a server, with schema ${schema}`
  if (schema === newest) return [ok(`${about}.`)]
  if (schema > newest)
    return [problem(`${about}, newer than this program's ${newest}.`, 'Upgrade prospect on this machine.')]
  return [warning(`${about}; it becomes ${newest} when it is used next.`)]
}

function schemaTroubles(path: string, { is, schema, newest }: Readable): readonly Verdict[] {
  if (is === 'newer')
    return [
      problem(
        `${path} has schema ${schema}, newer than this program's ${newest}.`,
        'Upgrade prospect; this version leaves the file as it is.',
      ),
    ]
  if (is !== 'older') return []
  const hint = 'Nothing to do. Keep a copy first if you may want to go back to the older program.'
  return [warning(`${path} has schema ${schema}; it becomes ${newest} when it is used next.`, hint)]
}

function soundness(scene: Scene, name: Name, { look, size, is, schema }: Readable): readonly Verdict[] {
  const path = scene.home[name]
  const about = `${path}: ${sizeText(size)}, schema ${schema}`
  if (size > large && !scene.thorough)
    return [ok(`${about}; not read through.`, 'prospect doctor --thorough reads it.')]
  try {
    const [first, ...more] = look.faults()
    if (first === undefined) return is === 'current' ? [ok(`${about}, sound.`)] : []
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    return [problem(`${path} is damaged: ${first.replace(/\s+/g, ' ')}${others}.`, mending[name])]
  } catch (error) {
    return [problem(`${path} cannot be read through: ${reasonOf(error)}.`, mending[name])]
  }
}
