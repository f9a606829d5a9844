import { Option } from 'commander'
import { groups } from '../options/global-options.js'
import { port, seconds } from '../options/values.js'

/** What a command does about the work it started. */
export interface Wait {
  /** Whether it does the work itself, instead of leaving it to a server or worker. */
  readonly doesWork: boolean
  /** Whether it prints the result of the work in place of the reply. */
  readonly printsResult: boolean
  /** How long it waits, in seconds; until the end when absent. */
  readonly seconds?: number
}

/** Creates the options of a command that starts work. */
export const waitOptions = (): Option[] =>
  [
    new Option(
      '--wait [seconds]',
      'print what the work found, not the reply; exit 14 when it takes longer than so many seconds',
    ).argParser(seconds),
    new Option(
      '--public-url <url>',
      'with --wait on a server elsewhere: where it reaches this machine, such as a tunnel',
    ),
    new Option(
      '--receive-port <n>',
      'the port of this machine that --public-url leads to (default: 4011)',
    ).argParser(port),
    new Option('--no-wait', 'leave the work to the next prospect serve, worker or engine jobs run'),
  ].map((option) => option.helpGroup(option.long?.endsWith('wait') ? groups.request : groups.everyRequest))

/** Reads these options. Without them the command does the work and prints the reply. */
export function waitOf({ wait }: Readonly<Record<string, unknown>>): Wait {
  if (wait === undefined) return { doesWork: true, printsResult: false }
  if (wait === false) return { doesWork: false, printsResult: false }
  return { doesWork: true, printsResult: true, ...(typeof wait === 'number' ? { seconds: wait } : {}) }
}
