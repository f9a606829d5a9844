import type { Command } from 'commander'
import type { ListedEvent } from '../../../storage/state/webhook-inbox.js'
import { openEvents } from '../../context/open-events.js'
import { isoTime } from '../../options/time-values.js'
import { printRecords } from '../../output/print-records.js'
import type { Row } from '../../output/records.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { chosen, chosenEvents, filtered } from './filter.js'

const columns = ['received_at', 'event', 'search_id', 'verified', 'forwarded', 'id']

/** `prospect events list`: what was received, newest first. */
export function listEvents(shell: Shell): Command {
  const command = filtered(shell.command('list', 'List the received events, newest first'))
  guide(
    command,
    [
      'events list',
      'events list --event completed --since 2h',
      'events list --search 7f6f2d0e -o events.csv',
    ],
    'See one whole: prospect events show ID',
  )
  return shell.action(command, async ({ options, globals }) => {
    const { context } = shell
    const which = chosen(options, context.clock.now())
    const events = await openEvents(context)
    const records = async function* (): AsyncGenerator<Row> {
      for await (const event of chosenEvents(events, which, 'newest')) yield listed(event)
    }
    await printRecords(context, records, globals, columns)
    return 0
  })
}

const listed = ({ id, receivedAt, event, search, verified, forwarded, bytes }: ListedEvent): Row => ({
  id,
  received_at: isoTime(receivedAt),
  event,
  search_id: search,
  verified,
  forwarded,
  bytes,
})
