import { setTimeout as pause } from 'node:timers/promises'
import { patience } from './effort.js'

/**
 * Resolves when a condition holds. Throws with the condition when it does not come to hold. One that takes long to check is
 * checked less often, so that what it waits for has most of the processor.
 */
export async function until(holds: () => boolean | Promise<boolean>, within = patience): Promise<void> {
  const end = performance.now() + within
  for (;;) {
    const began = performance.now()
    if (await holds()) return
    if (began > end) throw new Error(`Waited in vain for ${holds}`)
    await pause(Math.min(5 + 4 * (performance.now() - began), 100))
  }
}
