import type { InboxPort } from '../../../dashboard/page/ports.js'
import type { KeptEvent } from '../../../storage/state/webhook-inbox.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { openEvents } from '../../context/open-databases.js'
import { targetUrl } from '../../options/webhooks.js'
import { readNumbers } from '../events/events.js'
import { checkSent, type SendRequest, type SentEvent, sendEvents } from '../events/send.js'

/** Opens the inbox of this machine for the dashboard: the functions behind `prospect events`. */
export async function openInboxPort(context: Context): Promise<InboxPort> {
  const events = await openEvents(context)
  const ending = new AbortController()
  context.onClose(() => ending.abort())
  const send = async (url: string, numbers: SendRequest['numbers']) => {
    const target = targetUrl(url, 'The field')
    const sent: SentEvent[] = []
    await sendEvents(context, { events, target, numbers }, sent, ending.signal)
    checkSent(sent, target)
    return sent
  }
  const find = async (id: string): Promise<KeptEvent> => {
    const event = await events.find(id)
    if (!event) throw new UsageError(`There is no event ${id}.`, 'It may have been purged.')
    return event
  }
  return {
    list: (filter, limit, after) => events.list(filter, 'newest', limit, after),
    find: (id) => events.find(id),
    replay: async (id, url) => (await send(url, [(await find(id)).seq]))[0]?.answer ?? 'none',
    forward: async (filter, url) => {
      const which = { filter, limit: Number.POSITIVE_INFINITY }
      return (await send(url, readNumbers(events, which))).length
    },
  }
}
