import { isShared } from '../../../storage/catalogue-database.js'
import type { Scene } from './scene.js'
import { ok, orElse, type Verdict, warning } from './verdict.js'

const look = 'prospect data stats tells what it holds.'
const filling = 'prospect data sample makes some up; prospect data import companies FILE takes yours.'

/** Whether the catalogue holds something, and its imports were finished. */
export async function localData(scene: Scene): Promise<readonly Verdict[]> {
  if (isShared(scene.home)) return [ok("The catalogue is in the engine's database.", look)]
  const { is } = await scene.databases.find('catalogue')
  if (is === 'missing') return [ok('There is no local data yet: local lookups find nothing.', filling)]
  const driver = await scene.databases.current('catalogue')
  if (!driver) return []
  const { conditionOf } = await import('../../../catalogue/condition.js')
  const { isEmpty, isUnbuilt } = await driver.read(conditionOf)
  const unbuilt = warning(
    'The first import of a kind is under way, or was killed: searches wait for its indexes.',
    'Where none is under way, prospect data stats builds them; then run the same import again.',
  )
  const empty = warning('The catalogue is empty: local lookups find nothing.', filling)
  return orElse([...(isEmpty ? [empty] : []), ...(isUnbuilt ? [unbuilt] : [])], 'The catalogue holds data.')
}
