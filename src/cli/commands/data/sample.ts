import type { Command } from 'commander'
import type { Context, GlobalOptions } from '../../context.js'
import type { Shell } from '../../shell.js'

export function sampleCommand(shell: Shell): Command {
  return shell.command('sample', 'x')
}

export async function loadSample(_context: Context, _size: object, _globals: GlobalOptions): Promise<void> {}
