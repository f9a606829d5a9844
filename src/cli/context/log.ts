import { fchmodSync, fstatSync, openSync, writeSync } from 'node:fs'
import { systemReason, UsageError } from './errors.js'

/** The log of one command, for what runs unattended: one JSON object a line. */
export interface CommandLog {
  write(event: string, facts?: object): void
  /** Adds credits to those that the command has spent. */
  spend(credits: number): void
  /** Takes how far long work has come, in place of a display. */
  progress?(step: {
    readonly rows: number
    readonly found: number
    readonly credits: number
    readonly total: number | undefined
  }): void
  /** Writes the last event: the exit code and the credits. */
  end(exitCode: number): void
}

/**
 * Opens the log of `--log`: it is appended to, and only its owner can read it. Throws UsageError where it cannot be opened.
 */
export function openLog(path: string, now: () => number, redact: (text: string) => string): CommandLog {
  const file = open(path)
  let credits = 0
  const write: CommandLog['write'] = (event, facts = {}) => {
    const line = { time: new Date(now()).toISOString(), pid: process.pid, event, ...facts }
    try {
      writeSync(file, `${redact(JSON.stringify(line))}\n`)
    } catch {
      // A full disk must not end what has been paid for.
    }
  }
  return {
    write,
    spend: (more) => {
      credits += more
    },
    end: (exit_code) => write('end', { exit_code, credits }),
  }
}

function open(path: string): number {
  try {
    const file = openSync(path, 'a', 0o600)
    if (fstatSync(file).isFile()) fchmodSync(file, 0o600)
    return file
  } catch (error) {
    throw new UsageError(`--log: ${path} cannot be written: ${systemReason(error)}.`, 'Name another file.')
  }
}
