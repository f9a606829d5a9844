import type { Home } from '../../../client/retargeted-webhooks.js'
import { createSender } from '../../../client/sender.js'
import type { Targets } from '../../../engine/ports/ports.js'
import { newToken } from '../../../http/receiver.js'
import { type Rehoming, rehoming } from '../../../http/retargeting.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { openEvents } from '../../context/open-events.js'
import type { PublicAddress } from '../../options/public-address.js'
import { givenSecrets, type SecretChoice } from '../../options/webhook-secrets.js'
import { type PassingOn, passingOn } from './forwarding.js'
import type { PassedSpending } from './proxied-work.js'

/** Deliveries of a server that come here first, and go from here to those they are for. */
export interface Rehomed {
  readonly home: Home
  readonly rehoming: Rehoming
  readonly passingOn: PassingOn
}

/** Prepares to take deliveries at a public address; they are kept, and passed on with the signature of the workspace. */
export async function openRehoming(
  context: Context,
  known: PublicAddress,
  targets: (members: number) => Targets,
  choice: SecretChoice,
  globals: GlobalOptions,
  delivered: PassedSpending['delivered'] = async () => {},
): Promise<Rehomed> {
  const { clock, ids } = context
  const admin = await context.admin(globals)
  const events = await openEvents(context)
  const sender = createSender({ clock })
  context.onClose(() => sender.close())
  const permitted = async () => targets((await admin.members()).length)
  const secret = () => admin.webhookSecret(false)
  const passing = passingOn(context, events, { sender, secret, targets: permitted }, globals)
  const receiving = rehoming({
    secret: await events.token(newToken(ids.bytes(16))),
    random: () => ids.bytes(16),
    prefix: known.prefix,
    secrets: await givenSecrets(context.streams, choice),
    clock,
    // Counted first, which is done once however often it comes: what is kept is not sent to us again.
    keep: async (delivery, { target, operation }) => {
      await delivered(operation, delivery)
      return passing.keep(delivery, target)
    },
    received: passing.wake,
    report: (error) => context.notify(`A delivery could not be kept: ${(error as Error).message}.`, globals),
  })
  const home: Home = {
    check: async (url) => sender.check(url, await permitted()),
    addressFor: (url, operation, key) => known.origin + known.prefix + receiving.pathFor(url, operation, key),
  }
  return { home, rehoming: receiving, passingOn: passing }
}
