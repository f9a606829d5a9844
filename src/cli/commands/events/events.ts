import type { Command } from 'commander'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { forwardEvents } from './forward.js'
import { listEvents } from './list.js'
import { replayEvents } from './replay.js'
import { showEvent } from './show.js'

/** `prospect events`: what was delivered to the receiver of this machine. */
export function eventsCommand(shell: Shell): Command {
  const events = asGroup(shell.command('events', 'Received events: list, show, send again'))
  for (const part of [listEvents, showEvent, replayEvents, forwardEvents]) events.addCommand(part(shell))
  return guide(events, ['events list', 'events show ID'], 'Receive some: prospect listen')
}
