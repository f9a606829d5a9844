import type { Command } from 'commander'
import { asGroup, type Shell } from '../shell.js'
import { guide } from './guide.js'
import { exportRun } from './runs/export.js'
import { forgetRun } from './runs/forget.js'
import { listRuns } from './runs/list.js'
import { resumeRun } from './runs/resume.js'
import { showRun } from './runs/show.js'

/** `prospect runs`: the batches of this machine, with what they answered. */
export function runsCommand(shell: Shell): Command {
  const runs = asGroup(shell.command('runs', 'Batches: list, show, resume, export, forget'))
  for (const part of [listRuns, showRun, resumeRun, exportRun, forgetRun]) runs.addCommand(part(shell))
  return guide(runs, ['runs list', 'runs resume ID'], 'Start one: prospect accounts enrich --csv FILE')
}
