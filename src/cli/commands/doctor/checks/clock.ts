import { isoTime } from '../../../options/time-values.js'
import { engineState } from '../context/engine-store.js'
import type { Scene } from '../context/scene.js'
import { orElse, type Verdict, warning } from '../context/verdict.js'

/** What clocks may differ by, and what a delivery is accepted within, in milliseconds. */
export const toleratedMs = 300_000

/** Whether engine time is the time, and the time goes forward. */
export async function clocks(scene: Scene): Promise<readonly Verdict[]> {
  const now = scene.clock.now()
  const troubles = [...(await engineClock(scene, now)), ...(await machineClock(scene, now))]
  return orElse(troubles, `It is ${isoTime(now)}, for the engine too.`)
}

async function engineClock(scene: Scene, now: number): Promise<readonly Verdict[]> {
  const state = await engineState(scene)
  if (!state) return []
  const { offsetMs, frozenAt } = await state.store.read((reads) => reads.clock())
  const hint = 'prospect engine clock reset sets it right.'
  if (frozenAt !== null) return [warning(`The engine's clock stands still at ${isoTime(frozenAt)}.`, hint)]
  if (offsetMs !== 0)
    return [warning(`The engine's clock was moved: it is ${isoTime(state.now)} there.`, hint)]
  const { seq } = await state.store.read((reads) => reads.position(state.workspace.id))
  const [newest] = await state.store.read((reads) => reads.movements(state.workspace.id, seq - 1, 1))
  if (!newest || newest.createdAt <= now + toleratedMs) return []
  return [
    warning(
      `The newest movement of the ledger is of ${isoTime(newest.createdAt)}, which is yet to come: a clock went back.`,
      'Check the time of this machine; until then windows and quotas go on counting what they have.',
    ),
  ]
}

/** What this machine noted was noted in real time, whatever the engine's clock said. */
async function machineClock(scene: Scene, now: number): Promise<readonly Verdict[]> {
  const driver = await scene.databases.current('state')
  if (!driver) return []
  const { eventsOver } = await import('../../../../storage/state/webhook-inbox.js')
  const { runsOver } = await import('../../../../storage/state/runs/runs.js')
  const [event] = await eventsOver(driver).list({}, 'newest', 1)
  const [run] = await runsOver(driver).list()
  const newest = Math.max(event?.receivedAt ?? 0, run?.startedAt ?? 0)
  if (newest <= now + toleratedMs) return []
  const text = `This machine noted something at ${isoTime(newest)}, which is yet to come: its clock went back.`
  return [
    warning(
      text,
      'Set the time of this machine; signatures are refused where it is more than 5 minutes off.',
    ),
  ]
}
