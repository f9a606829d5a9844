import { Option } from 'commander'
import type { Input } from '../../api/calls/caller.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import type { StreamsContext } from '../context/context.js'
import type { Invocation } from '../options/command-environment.js'
import { groups } from '../options/global-options.js'
import { port, seconds } from '../options/values.js'
import { fileOf } from '../output/output.js'

export interface Wait {
  /** Whether it does the work itself, instead of leaving it to a server or worker. */
  readonly doesWork: boolean
  readonly printsResult: boolean
  /** How long it waits, in seconds; until the end when absent. */
  readonly seconds?: number
}

export const waitOptions = (): Option[] =>
  [
    new Option(
      '--wait [seconds]',
      'wait for the job and print its results (default on a terminal and with -o); exit 14 after this many seconds',
    ).argParser(seconds),
    new Option(
      '--public-url <url>',
      'the address where a server reaches this machine while it waits, such as that of a tunnel',
    ),
    new Option(
      '--receive-port <n>',
      'the port of this machine that --public-url leads to (default: 4011)',
    ).argParser(port),
    new Option('--no-wait', 'print the reply, and let the server or a worker finish the job'),
  ].map((option) => option.helpGroup(option.long?.endsWith('wait') ? groups.request : groups.everyRequest))

/**
 * Reads these options. Without them a command prints the result where it goes to a terminal or a file, unless the result has
 * another address; in a pipe it prints the reply.
 */
export function waitOf(
  { globals, streams }: StreamsContext,
  { options: { wait } }: Invocation,
  { webhook_url: address }: Input,
): Wait {
  if (wait === false) return { doesWork: false, printsResult: false }
  const isElsewhere = address !== undefined && address !== ownWebhook
  const isShown = streams.stdout.isTTY === true || fileOf(globals) !== undefined
  const printsResult = wait !== undefined || (isShown && !isElsewhere)
  return { doesWork: true, printsResult, ...(typeof wait === 'number' ? { seconds: wait } : {}) }
}
