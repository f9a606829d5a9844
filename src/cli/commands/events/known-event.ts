import type { Events, KeptEvent } from '../../../storage/state/webhook-inbox.js'
import { exits, Stop } from '../../context/errors.js'

/** The event with an id; ends the command with exit 9 when there is none. */
export async function knownEvent(events: Events, id: string): Promise<KeptEvent> {
  const event = await events.find(id)
  if (event) return event
  throw new Stop(
    `There is no event ${id}.`,
    exits.notFound,
    'See what was received: prospect events list',
    'not_found',
  )
}
