import { engineTime } from '../../../../engine/clock.js'
import type { Reads, Store, Workspace } from '../../../../engine/ports/ports.js'
import type { Scene } from './scene.js'

/** The engine as it stands, to be asked and not changed. */
export interface EngineState {
  readonly store: Pick<Store, 'read'>
  /** The workspace in use. */
  readonly workspace: Workspace
  /** Engine time. */
  readonly now: number
}

/** The engine's state; nothing where its database is not there, or not one that this program can ask. */
export async function engineState(scene: Scene): Promise<EngineState | undefined> {
  const driver = await scene.databases.current('engine')
  if (!driver) return undefined
  const { storeOver } = await import('../../../../storage/engine/store.js')
  const store = storeOver(driver)
  return await store.read(async (reads) => {
    const workspace = await reads.workspace()
    if (!workspace) return undefined
    return { store, workspace, now: engineTime(await reads.clock(), scene.clock.now()) }
  })
}

/** Asks the engine; nothing where it cannot be asked. */
export async function askEngine<T>(
  scene: Scene,
  work: (reads: Reads, state: EngineState) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const state = await engineState(scene)
  return state ? await state.store.read((reads) => work(reads, state)) : []
}
