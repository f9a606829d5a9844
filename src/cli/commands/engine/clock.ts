import type { Command } from 'commander'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { durationMs, isoTime, momentMs } from '../../options/values.js'
import { adminAction } from './admin-action.js'

/** `prospect engine clock`: engine time, which rules windows, quotas, weeks and renewals of the workspace. */
export function clockCommand(environment: CommandEnvironment): Command {
  const clock = asGroup(environment.command('clock', "The engine's clock: move it to see limits reset"))
  for (const make of [showClock, setClock, advanceClock, resetClock]) clock.addCommand(make(environment))
  return clock
}

interface State {
  readonly now: number
  readonly frozen: boolean
  readonly offsetMs: number
}

const shown = ({ now, frozen, offsetMs }: State) => ({
  now: isoTime(now),
  frozen,
  offset_seconds: Math.round(offsetMs / 1_000),
})

function showClock(environment: CommandEnvironment): Command {
  const command = guide(environment.command('show', 'Show engine time'), ['engine clock show'])
  return adminAction(environment, command, async (admin) => shown(await admin.clock()))
}

function setClock(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Set engine time; it goes on from there')
    .argument('<time>', 'day or time such as 2026-03-01T08:30:00Z (UTC unless it says)', momentMs)
    .option('--frozen', 'stand still at that time')
  guide(command, ['engine clock set 2026-02-28T23:59:50Z', 'engine clock set 2026-03-01 --frozen'])
  return adminAction(environment, command, async (admin, { args: [time = ''], options }) =>
    shown(await admin.setClock(momentMs(time), options.frozen === true)),
  )
}

function advanceClock(environment: CommandEnvironment): Command {
  const command = environment
    .command('advance', 'Move engine time forward; a frozen clock stays frozen')
    .argument('<duration>', 'such as 90s, 15m, 2h, 1d', durationMs)
  guide(command, ['engine clock advance 1d'], 'Then look at what was reset: prospect credits')
  return adminAction(environment, command, async (admin, { args: [duration = ''] }) =>
    shown(await admin.advanceClock(durationMs(duration))),
  )
}

function resetClock(environment: CommandEnvironment): Command {
  const command = guide(environment.command('reset', 'Go back to real time'), ['engine clock reset'])
  return adminAction(environment, command, async (admin) => shown(await admin.resetClock()))
}
