import { Refusal } from '../api/calls/errors.js'

/** Returns the refusal of work that a signal of the system ended; the reason of the abort is the name of that signal. */
export const interrupted = ({ reason }: AbortSignal, during: string, path?: string): Refusal =>
  new Refusal(`interrupted.${during}`, { signal: reason, path })

/** Returns what a system call on a pipe returns; `undefined` where it would have to wait. */
export const unlessBusy = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (systemCode(error) !== 'EAGAIN') throw error
    return undefined
  })

/** Returns the system's code of an error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Refusal) return undefined
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
