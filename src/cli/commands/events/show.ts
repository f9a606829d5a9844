import type { Command } from 'commander'
import { parseBody } from '../../../api/values/json.js'
import type { KeptEvent } from '../../../storage/state/webhook-inbox.js'
import { openEvents } from '../../context/open-events.js'
import { isoTime } from '../../options/time-values.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { knownEvent } from './known-event.js'

/** `prospect events show ID`: an event whole, and where it was sent on to. */
export function showEvent(shell: Shell): Command {
  const command = shell
    .command('show', 'Show a received event: its body, its headers, and where it was sent on to')
    .argument('<id>', 'id of the event, as events list shows it')
  guide(command, ['events show msg_2f1f7c7e', 'events show msg_2f1f7c7e --json --fields body'])
  return shell.action(command, async ({ args: [id = ''], globals }) => {
    const events = await openEvents(shell.context)
    await shell.print(shown(await knownEvent(events, id)), globals)
    return 0
  })
}

const shown = ({ id, receivedAt, event, search, verified, headers, body, forwards }: KeptEvent) => ({
  id,
  received_at: isoTime(receivedAt),
  event,
  search_id: search,
  verified,
  headers,
  forwards: forwards.map(({ target, state, attempts, answer, at, nextAt }) => ({
    target,
    state,
    attempts,
    answer,
    changed_at: isoTime(at),
    next_at: nextAt === null ? null : isoTime(nextAt),
  })),
  body: parseBody(body),
})
