import { verifyLedger } from '../../../../engine/credits/ledger.js'
import { counted } from '../context/counted.js'
import { engineState } from '../context/engine-store.js'
import type { Scene } from '../context/scene.js'
import { ok, problem, type Verdict } from '../context/verdict.js'

/** Movements that are looked at; `engine ledger verify` looks at all. */
const recent = 10_000

/** Whether the newest movements of the ledger add up. */
export async function ledger(scene: Scene): Promise<readonly Verdict[]> {
  const state = await engineState(scene)
  if (!state) return []
  const { store, workspace } = state
  const { id } = workspace
  const from = await store.read(async (reads) => {
    const last = await reads.position(id)
    const [movement] = last.seq <= recent ? [] : await reads.movements(id, last.seq - recent - 1, 1)
    return movement
  })
  const { movements, problems } = await verifyLedger(store, id, from)
  const [first, ...more] = problems
  if (first === undefined)
    return [ok(`The ledger adds up: ${counted(movements, 'movement')}${from ? ', the newest' : ''}.`)]
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  return [
    problem(
      `The ledger does not add up: ${first}${others}.`,
      'prospect engine ledger verify tells all of it.',
    ),
  ]
}
