import { findWorkspace, openSuppressor } from '../../engine/tables/members.js'
import { type SuppressionStore, suppressionsOf, thisMachine } from '../../suppression/suppressions.js'
import type { Suppressor } from '../../suppression/suppressor.js'
import type { Context } from '../context/context.js'
import { openAdmin, openEngineStore, openStateOf } from '../context/open-databases.js'
import { targetIn } from './resolve-target.js'

/** Returns the database and the owner of the entries that apply to the target of a command. */
async function ownerOf(context: Context) {
  const target = targetIn(context)
  if (target.kind === 'remote' && target.direct)
    return { driver: await openStateOf(context), owner: thisMachine, name: undefined }
  await openAdmin(context)
  const { store } = await openEngineStore(context)
  const workspace = await store.read((tx) => findWorkspace(tx))
  return { driver: store, owner: workspace?.id ?? thisMachine, name: workspace?.name }
}

/** Opens whom the target of a command suppresses; `place` says where that is kept. */
export async function openSuppressions(
  context: Context,
): Promise<{ readonly entries: SuppressionStore; readonly place: string }> {
  const { driver, owner, name } = await ownerOf(context)
  const place =
    name === undefined ? 'on this machine, for servers called directly' : `in the workspace ${name}`
  return { entries: suppressionsOf(driver, owner), place }
}

/** Returns what keeps out whom the target of a command suppresses; `undefined` where it suppresses nobody. */
export async function suppressorOf(context: Context): Promise<Suppressor | undefined> {
  const { driver, owner } = await ownerOf(context)
  return openSuppressor(driver, owner)
}
