import type { Command } from 'commander'
import { asGroup, type Shell } from '../shell.js'
import { forwardEvents } from './events/forward.js'
import { listEvents } from './events/list.js'
import { replayEvents } from './events/replay.js'
import { showEvent } from './events/show.js'
import { guide } from './guide.js'

/** `prospect events`: what was delivered to the receiver of this machine. */
export function eventsCommand(shell: Shell): Command {
  const events = asGroup(shell.command('events', 'Received events: list, show, send again'))
  for (const part of [listEvents, showEvent, replayEvents, forwardEvents]) events.addCommand(part(shell))
  return guide(events, ['events list', 'events show ID'], 'Receive some: prospect listen')
}
