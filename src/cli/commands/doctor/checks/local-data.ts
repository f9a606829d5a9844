import { findSharedCatalogue, isShared } from '../../../../storage/database/catalogue-location.js'
import { readStoredNumber, toSchemaState } from '../../../../storage/database/migrate.js'
import type { Connection } from '../../../../storage/driver/connection.js'
import { reasonOf } from '../context/reason.js'
import type { Scene } from '../context/scene.js'
import { ok, orElse, problem, type Verdict, warning } from '../context/verdict.js'
import { schemaTroubles } from './databases.js'

const about = "The catalogue in the engine's database"
const look = 'prospect data stats tells what it holds.'
const filling = 'prospect data sample makes some up; prospect data import companies FILE takes yours.'

/** Whether the catalogue holds something, and its imports were finished. */
export async function localData(scene: Scene): Promise<readonly Verdict[]> {
  if (isShared(scene.home)) return await sharedData(scene)
  const { is } = await scene.databases.find('catalogue')
  if (is === 'missing') return [ok('There is no local data yet: local lookups find nothing.', filling)]
  const driver = await scene.databases.current('catalogue')
  if (!driver) return []
  const { conditionOf } = await import('../../../../catalogue/lookup/stats.js')
  const { isEmpty, isUnbuilt } = await driver.read(conditionOf)
  const unbuilt = warning(
    'The first import of a kind is under way, or was killed: searches wait for its indexes.',
    'Where none is under way, prospect data stats builds them; then run the same import again.',
  )
  const empty = warning('The catalogue is empty: local lookups find nothing.', filling)
  return orElse([...(isEmpty ? [empty] : []), ...(isUnbuilt ? [unbuilt] : [])], 'The catalogue holds data.')
}

/** Whether the catalogue beside the engine's tables on a server holds something; nothing is made or changed. */
async function sharedData(scene: Scene): Promise<readonly Verdict[]> {
  // A server that is out of reach is told of already.
  if ((await scene.databases.find('engine')).is === 'unreachable') return []
  try {
    const driver = await findSharedCatalogue(scene.home.engine)
    if (!driver) return [await nothingShared(scene)]
    return [await driver.read((connection) => judged(connection, scene)).finally(() => driver.close())]
  } catch (error) {
    return [problem(`${about} cannot be read: ${reasonOf(error)}.`)]
  }
}

async function judged(connection: Connection, scene: Scene): Promise<Verdict> {
  const { conditionOf } = await import('../../../../catalogue/lookup/stats.js')
  const { catalogueSchema } = await import('../../../../catalogue/schema/sqlite.js')
  const schema = toSchemaState(await readStoredNumber(connection, 'postgres'), catalogueSchema)
  const [trouble] = schema.is === 'empty' ? [] : schemaTroubles(about, schema)
  if (trouble) return trouble
  if (schema.is === 'empty' || (await conditionOf(connection)).isEmpty) return await nothingShared(scene)
  return ok(`${about} holds data.`, look)
}

/** An engine that moved to a server finds nothing there of what its machine had. */
async function nothingShared({ databases, home }: Scene): Promise<Verdict> {
  const here = await databases.find('catalogue')
  const driver = await databases.current('catalogue')
  const { conditionOf } = await import('../../../../catalogue/lookup/stats.js')
  const holds = driver ? !(await driver.read(conditionOf)).isEmpty : 'look' in here
  const text = `${about} is empty: lookups find nothing.`
  return holds
    ? warning(
        `${text} This machine has one in ${home.catalogue}.`,
        'prospect data copy server brings it there.',
      )
    : warning(text, filling)
}
