import type { Command } from 'commander'
import { openEvents } from '../../context/open-events.js'
import { targetUrl } from '../../options/target-url.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { knownEvent } from './known-event.js'
import { sendAll } from './send.js'

/** `prospect events replay ID… --to URL`: sends single events again. */
export function replayEvents(shell: Shell): Command {
  const command = shell
    .command('replay', 'Send received events to an address, with the headers and body they came with')
    .argument('<id...>', 'ids of the events, as events list shows them')
    .requiredOption('--to <url>', 'where to send them')
  guide(
    command,
    ['events replay msg_2f1f7c7e --to http://localhost:3000/hooks'],
    'An old signature stays as it is: what checks it must allow for its age.',
  )
  return shell.action(command, async ({ args, options, globals }) => {
    const target = targetUrl((options as { to: string }).to, '--to')
    const events = await openEvents(shell.context)
    const numbers: number[] = []
    for (const id of args) numbers.push((await knownEvent(events, id)).seq)
    return sendAll(shell, { events, target, numbers }, globals)
  })
}
