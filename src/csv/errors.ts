import { exitCodes } from '../api/calls/exit-codes.js'

/** An option, a file or a run that is refused; `hint` says what to do about it. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly hint = '',
    /** Exit code of a command that ends with it. */
    readonly exit = 2,
    /** The code of the error in a report. */
    readonly reportCode = 'usage',
  ) {
    super(message)
    this.name = 'Refusal'
  }
}

/** An encoding that a file may have, and a cell as it reads in it. */
export interface Reading {
  readonly label: string
  readonly sample?: string
}

/** A file that cannot be read as a table; `line` counts from 1 as an editor does. */
export class CsvError extends Error {
  /** Exit code of a command that ends with it. */
  readonly exit = 2

  constructor(
    /** What is wrong, without the line. */
    readonly problem: string,
    readonly line?: number,
    /** The encodings that the file may have, where that is all that is wrong. */
    readonly readings?: readonly Reading[],
  ) {
    super(line === undefined ? problem : `Line ${line}: ${problem}`)
    this.name = 'CsvError'
  }
}

/** Work that a signal of the system ended. The reason of the abort is the name of that signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  /** Exit code of a command that ends with it. */
  readonly exit: number

  constructor({ reason }: AbortSignal, during: string) {
    const isTermination = reason === 'SIGTERM'
    super(`${isTermination ? 'Terminated' : 'Interrupted'} while ${during}.`)
    this.exit = isTermination ? exitCodes.terminated : exitCodes.interrupted
  }
}

/** Returns what a system call on a pipe returns; `undefined` where it would have to wait. */
export const unlessBusy = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (systemCode(error) !== 'EAGAIN') throw error
    return undefined
  })

const systemReasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a folder',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'the system does not permit it',
  EPIPE: 'the reader has closed it',
  EROFS: 'the disk is read-only',
}

/** Returns the system's code of an error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

/** Returns a path for a message, cut after 100 characters. */
export const shortenPath = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)

/** Returns the meaning of a system error in words. */
export function systemReason(error: unknown): string {
  const code = systemCode(error)
  if (code !== undefined) return `${systemReasons[code] ?? 'the system refused'} (${code})`
  return error instanceof Error ? error.message : String(error)
}
