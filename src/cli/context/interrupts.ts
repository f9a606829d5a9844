import { exitCodes } from '../../api/calls/exit-codes.js'
import type { ClockContext, Streams } from './context.js'

/** The signals that end a command, and their exit codes. */
const signalExits = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated } as const

type Signal = keyof typeof signalExits

/** Runs work that a signal of the system can abort. The name of the signal is the reason of the abort. */
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

/** Returns the exit code of an abort; `undefined` when no signal of the system was the reason. */
export function exitOfSignal(signal: AbortSignal): number | undefined {
  const name = signal.reason as unknown
  return signal.aborted && typeof name === 'string' ? signalExits[name as Signal] : undefined
}

/** The longest timer of Node: about 24 days. */
const longestMs = 2_147_483_647

/**
 * Runs work that is aborted by a signal of the system, or after some seconds. Without seconds it may take as long as it
 * needs.
 */
export async function within<T>(
  context: ClockContext,
  interrupted: AbortSignal,
  seconds: number | undefined,
  work: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const [late, done] = [new AbortController(), new AbortController()]
  const end = () => late.abort()
  if (seconds === 0) end()
  else if (seconds !== undefined)
    context.sleep(Math.min(seconds * 1_000, longestMs), done.signal).then(end, () => {})
  try {
    return await work(AbortSignal.any([interrupted, late.signal]))
  } finally {
    done.abort()
  }
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
