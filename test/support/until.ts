import { setTimeout as pause } from 'node:timers/promises'

/** Resolves when a condition holds. The time limit of the test ends a wait in vain. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(5)
}
