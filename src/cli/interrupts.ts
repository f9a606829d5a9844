import type { Streams } from './context.js'
import { exits } from './exit.js'

/** What ended long work from outside, and the exit code that says so. */
const signalExits = { SIGINT: exits.interrupted, SIGTERM: exits.terminated } as const

type Signal = keyof typeof signalExits

/** Runs work that a signal ends in order: the signal's name is the reason of the abort. */
export async function interruptible<T>(
  streams: Streams,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const names = Object.keys(signalExits) as Signal[]
  const listeners = names.map((name) => [name, () => controller.abort(name)] as const)
  for (const [name, listener] of listeners) streams.signals?.on(name, listener)
  try {
    return await work(controller.signal)
  } finally {
    for (const [name, listener] of listeners) streams.signals?.off(name, listener)
  }
}

/** The exit code of an abort; nothing when no signal was the reason. */
export function exitOfSignal(signal: AbortSignal): number | undefined {
  const name = signal.reason as unknown
  return signal.aborted && typeof name === 'string' ? signalExits[name as Signal] : undefined
}
