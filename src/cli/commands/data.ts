import type { Command } from 'commander'
import { asGroup, type Shell } from '../shell.js'
import { copyCommand } from './data/copy.js'
import { exportCommand } from './data/export.js'
import { forgetCommand } from './data/forget.js'
import { importCommand } from './data/import.js'
import { purgeCommand } from './data/purge.js'
import { sampleCommand } from './data/sample.js'
import { statsCommand } from './data/stats.js'
import { guide } from './guide.js'

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
