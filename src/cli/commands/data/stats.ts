import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { guide } from '../guide.js'

/** `prospect data stats`: how many records of each kind there are. */
export function statsCommand(shell: Shell): Command {
  const command = shell.command('stats', 'Count the records of each kind')
  guide(command, ['data stats'], 'Nothing there yet? prospect data sample')
  return shell.action(command, async ({ globals }) => {
    await shell.print(await (await shell.context.catalogue()).stats(), globals)
    return 0
  })
}
