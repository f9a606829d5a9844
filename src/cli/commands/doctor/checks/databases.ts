import { type SchemaState, unfinishedReason } from '../../../../storage/database/migrate.js'
import type { Name, Readable, Served } from '../context/databases.js'
import { sizeText } from '../context/files.js'
import { reasonOf } from '../context/reason.js'
import type { Scene } from '../context/scene.js'
import { ok, orElse, problem, type Verdict, warning } from '../context/verdict.js'

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
      return [...schemaTroubles(path, found.schema), ...soundness(scene, name, found)]
  }
}

function serverTroubles({ schema }: Extract<Served, { is: 'served' }>): readonly Verdict[] {
  const about = "The engine's database is on a server, and"
  return orElse(schemaTroubles(about, schema), `${about} has schema version ${schema.version}.`)
}

/** What a schema says about a database beyond that it is current; `about` begins the sentence. */
export function schemaTroubles(about: string, { is, version, newest }: SchemaState): readonly Verdict[] {
  switch (is) {
    case 'current':
      return []
    case 'empty':
      return [warning(`${about} has no tables yet; its next use makes them.`)]
    case 'older':
      return [warning(`${about} has schema version ${version}; its next use makes that ${newest}.`, keepCopy)]
    case 'unreleased':
      return [warning(`${about} has schema version ${version}; its next use marks it with that.`, keepCopy)]
    case 'newer':
      return [
        problem(
          `${about} has schema version ${version}, newer than this program's ${newest}.`,
          'Upgrade prospect; this version leaves the database as it is.',
        ),
      ]
    case 'unfinished':
      return [problem(`${about} cannot be used: ${unfinishedReason}.`)]
  }
}

const keepCopy =
  'Nothing to do. An older program refuses it from then on: keep a copy if you may want to go back.'

function soundness(scene: Scene, name: Name, { look, size, schema }: Readable): readonly Verdict[] {
  const path = scene.home[name]
  const about = `${path}: ${sizeText(size)}, schema version ${schema.version}`
  if (size > large && !scene.thorough)
    return [ok(`${about}; not read through.`, 'prospect doctor --thorough reads it.')]
  try {
    const [first, ...more] = look.faults()
    if (first === undefined) return schema.is === 'current' ? [ok(`${about}, sound.`)] : []
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    return [problem(`${path} is damaged: ${first.replace(/\s+/g, ' ')}${others}.`, mending[name])]
  } catch (error) {
    return [problem(`${path} cannot be read through: ${reasonOf(error)}.`, mending[name])]
  }
}
