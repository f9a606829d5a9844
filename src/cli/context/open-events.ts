import type { Events } from '../../storage/state/webhook-inbox.js'
import type { HomeContext } from './context.js'
import { prepareHome } from './home.js'

/** The received events of this machine, closed with the command. */
export async function openEvents(context: HomeContext): Promise<Events> {
  prepareHome(context.home)
  const { openState } = await import('../../storage/state/open.js')
  const { eventsOver } = await import('../../storage/state/webhook-inbox.js')
  const events = eventsOver(await openState(context.home.state))
  context.onClose(() => events.close())
  return events
}
