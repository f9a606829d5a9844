import type { Command } from 'commander'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import { openEvents } from '../../context/open-events.js'
import { targetUrl } from '../../options/target-url.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { type Chosen, chosen, chosenEvents, filtered } from './filter.js'
import { sendAll } from './send.js'

/** `prospect events forward --to URL`: sends all chosen events, oldest first. */
export function forwardEvents(shell: Shell): Command {
  const command = filtered(
    shell
      .command('forward', 'Send all received events, or some of them, to an address, oldest first')
      .requiredOption('--to <url>', 'where to send them'),
  )
  guide(
    command,
    [
      'events forward --to http://localhost:3000/hooks',
      'events forward --to http://localhost:3000/hooks --event lead_search.record --since 1d',
    ],
    'To send each on as it arrives: prospect listen --forward-to URL',
  )
  return shell.action(command, async ({ options, globals }) => {
    const target = targetUrl((options as { to: string }).to, '--to')
    const which = chosen(options, shell.context.clock.now())
    const events = await openEvents(shell.context)
    return sendAll(shell, { events, target, numbers: numbersOf(events, which) }, globals)
  })
}

async function* numbersOf(events: Events, which: Chosen): AsyncGenerator<number> {
  for await (const { seq } of chosenEvents(events, which, 'oldest')) yield seq
}
