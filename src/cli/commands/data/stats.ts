import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { guide } from '../guide.js'
import { catalogueOption, worldOf } from './catalogue-option.js'

/** `prospect data stats`: how many records of each kind there are. */
export function statsCommand(shell: Shell): Command {
  const command = shell.command('stats', 'Count the records of each kind').addOption(catalogueOption())
  guide(
    command,
    ['data stats', 'data stats --database postgres://prospect@db.example/prospect'],
    'Nothing there yet? prospect data sample',
  )
  return shell.action(command, async ({ options, globals }) => {
    const { catalogue } = worldOf(shell.context, options)
    await shell.print(await (await catalogue()).stats(), globals)
    return 0
  })
}
