import type { Command } from 'commander'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { copyCommand } from './copy.js'
import { exportCommand } from './export.js'
import { forgetCommand } from './forget.js'
import { importCommand } from './import.js'
import { purgeCommand } from './purge.js'
import { sampleCommand } from './sample.js'
import { statsCommand } from './stats.js'

/** `prospect data`: the companies, people, jobs and posts that the local engine answers from. */
export function dataCommand(shell: Shell): Command {
  const data = asGroup(
    shell.command('data', 'The local catalogue: import, sample, stats, export, copy, forget, purge'),
  )
  for (const part of [
    importCommand,
    sampleCommand,
    statsCommand,
    exportCommand,
    copyCommand,
    forgetCommand,
    purgeCommand,
  ])
    data.addCommand(part(shell))
  return guide(data, ['data sample', 'data import companies companies.csv', 'data stats'])
}
