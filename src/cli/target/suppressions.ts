import { type SuppressionStore, suppressionsOf } from '../../suppression/suppressions.js'
import type { Context } from '../context/context.js'
import {
  openAdmin,
  openStateOf,
  openWorkspaceOwner,
  type SuppressionOwner,
  thisMachine,
} from '../context/open-databases.js'
import { targetIn } from './resolve-target.js'

/** Opens whom the target of a command suppresses, also where nobody is yet; `place` says where that is kept. */
export async function openSuppressions(
  context: Context,
): Promise<{ readonly entries: SuppressionStore; readonly place: string }> {
  const target = targetIn(context)
  if (target.kind === 'remote' && target.direct)
    return {
      entries: suppressionsOf(await openStateOf(context), thisMachine),
      place: 'on this machine, for servers called directly',
    }
  await openAdmin(context)
  const { driver, owner, name } = (await openWorkspaceOwner(context)) as SuppressionOwner
  return { entries: suppressionsOf(driver, owner), place: `in the workspace ${name}` }
}
