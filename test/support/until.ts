import { setTimeout as pause } from 'node:timers/promises'

/**
 * Resolves when a condition holds. The time limit of the test ends a wait in vain. A condition that takes long to check
 * is checked less often, so that what it waits for has most of the processor.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const began = performance.now()
    if (await holds()) return
    await pause(Math.min(5 + 4 * (performance.now() - began), 100))
  }
}
