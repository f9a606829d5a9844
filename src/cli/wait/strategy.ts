import type { Input } from '../../api/calls/caller.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import type { Operation } from '../../api/operations/table.js'
import { wantsWebhook } from '../../api/validation/own-webhook.js'
import { isOwnMachine } from '../../api/values/url.js'
import { type EventKind, eventOf, isCompanyImport } from '../../api/webhooks/events.js'
import { ownWebhook } from '../../api/webhooks/own-webhook.js'
import { UsageError } from '../context/errors.js'
import type { OperationRequest } from '../operation/request.js'
import { type PublicAddress, publicAddress } from '../options/webhooks.js'
import type { Target } from '../target/resolve-target.js'

/** How a command gets the result of work on a server. */
export interface WaitStrategy {
  readonly kind: EventKind
  /** Whether the command receives the deliveries. */
  readonly receives: boolean
  /** Where the server reaches the receiver, if not where it listens. */
  readonly address: PublicAddress | undefined
  readonly port: number | undefined
  /** The server's words in the names of fields. */
  readonly names: WireNames | undefined
}

/** Chooses how to get the result of an operation from a target: the command receives it, or polls for it. */
export function waitStrategyOf(
  row: Operation,
  input: Input,
  target: Target,
  options: Readonly<Record<string, unknown>>,
): WaitStrategy {
  const kind = eventOf(row.id) ?? 'lead_search'
  const server = target.kind === 'remote' ? target : undefined
  const origin = server && new URL(server.baseUrl)
  const isOwn = origin !== undefined && isOwnMachine(origin)
  // A tunnel leads to one port, which one command at a time can use: by default only one does that polls for what is
  // observed and not specified.
  const tunnel = isOwn || !isCompanyImport(kind) ? undefined : server?.publicUrl
  const address = publicAddress((options.publicUrl as string | undefined) ?? tunnel)
  const port = options.receivePort as number | undefined
  const strategy = { kind, address, port, names: server?.names }
  const isGiven = input.webhook_url !== undefined && input.webhook_url !== ownWebhook
  return { ...strategy, receives: !isGiven && (address !== undefined || isOwn) }
}

/** Throws UsageError where an operation requires a webhook and none is given, so that its result would be lost. */
export function checkWebhook({ operation, shape, input }: OperationRequest): void {
  if (!wantsWebhook(shape) || input.webhook_url !== undefined) return
  throw new UsageError(
    `${operation.command} delivers its result by webhook, so it needs --webhook-url.`,
    'Give one, such as that of prospect listen; or add --wait or -o FILE, and this command waits for the result itself.',
  )
}
