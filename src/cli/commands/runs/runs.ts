import type { Command } from 'commander'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { exportRun } from './export.js'
import { forgetRun } from './forget.js'
import { listRuns } from './list.js'
import { resumeRun } from './resume.js'
import { showRun } from './show.js'

/** `prospect runs`: the batches of this machine, with what they answered. */
export function runsCommand(environment: CommandEnvironment): Command {
  const runs = asGroup(environment.command('runs', 'Batches: list, show, resume, export, forget'))
  for (const part of [listRuns, showRun, resumeRun, exportRun, forgetRun]) runs.addCommand(part(environment))
  return guide(runs, ['runs list', 'runs resume ID'], 'Start one: prospect accounts enrich --csv FILE')
}
