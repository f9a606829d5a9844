import type { Command } from 'commander'
import type { Shell } from './shell.js'

/** A command that is not derived from the operation table. */
export interface HandWritten {
  readonly name: string
  readonly summary: string
  /** Heading in the list of commands. */
  readonly group: string
  /** Loads its module, which is nothing but this command's, and builds it. */
  build(shell: Shell): Promise<Command>
}

/** Headings of the list of commands. */
export const commandGroups = {
  api: 'The API:',
  machine: 'Your machine:',
  data: 'Local data:',
  engine: 'The engine:',
  servers: 'Servers:',
} as const

/** The hand-written commands, in the order help shows them. */
export const handWritten: readonly HandWritten[] = [
  {
    name: 'commands',
    summary: 'The whole command map, for programs',
    group: commandGroups.machine,
    build: async (shell) => (await import('./command-map.js')).commandsCommand(shell),
  },
]
