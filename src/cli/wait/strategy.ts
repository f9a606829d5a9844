import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { isOwnMachine } from '../../api/values/url.js'
import { type EventKind, eventOf } from '../../api/webhooks/events.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import { UsageError } from '../context/errors.js'
import { type PublicAddress, publicAddress } from '../options/webhooks.js'
import type { Target } from '../target/resolve-target.js'
import { readerOf } from './watch-polling.js'

/** How the result of work on a server comes to the command that asked for it. */
export interface Way {
  readonly kind: EventKind
  /** Whether the command takes the deliveries itself. */
  readonly receives: boolean
  /** Where the server reaches it, when that is not where it listens. */
  readonly known: PublicAddress | undefined
  readonly port: number | undefined
  /** Whether the server can be asked how the work stands. */
  readonly asks: boolean
}

/** Chooses the way before anything is sent; where there is none, it says what to do: exit 2. */
export function waitStrategyOf(
  row: Operation,
  input: Input,
  target: Target,
  options: Readonly<Record<string, unknown>>,
): Way {
  const kind = eventOf(row.id) ?? 'lead_search'
  const asks = readerOf(kind) !== undefined
  const origin = target.kind === 'remote' ? new URL(target.baseUrl) : undefined
  const isOwn = origin !== undefined && isOwnMachine(origin)
  // A tunnel leads to one port, which one command at a time has: by itself it is only for what cannot be asked for.
  const usual = target.kind === 'remote' && !isOwn && !asks ? target.publicUrl : undefined
  const known = publicAddress((options.publicUrl as string | undefined) ?? usual)
  const port = options.receivePort as number | undefined
  const way = { kind, known, port, asks }
  if (isGiven(input.webhook_url)) {
    if (asks) return { ...way, receives: false }
    throw new UsageError(
      `The result of ${row.command} goes to the --webhook-url alone: this command cannot wait for it.`,
      'Leave out --wait, or leave out --webhook-url so that the command receives it.',
    )
  }
  if (known !== undefined || isOwn) return { ...way, receives: true }
  if (asks) return { ...way, receives: false }
  throw new UsageError(
    `The result of ${row.command} comes by webhook alone, and ${origin?.host ?? 'the server'} cannot reach this machine.`,
    'Give --public-url (or the setting public_url), the address of a tunnel to this machine; or --webhook-url, such as that of prospect listen, without --wait.',
  )
}

const isGiven = (url: unknown): boolean => url !== undefined && url !== ownWebhook

/** Refuses work whose result would have nowhere to go: the API wants an address, and nobody waits at one. */
export function checkAddress(row: Operation, isWanted: boolean, input: Input): void {
  if (!isWanted || input.webhook_url !== undefined) return
  throw new UsageError(
    `${row.command} delivers its result by webhook: a --webhook-url is missing.`,
    'Give one, such as that of prospect listen; or add --wait, and this command receives the result itself.',
  )
}
