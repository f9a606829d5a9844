import { Argument, type Command } from 'commander'
import { write } from '../io.js'
import type { Shell } from '../shell.js'
import { bashScript } from './completion/bash.js'
import type { CommandMap } from './completion/described.js'
import { fishScript } from './completion/fish.js'
import { type Places, placesOf } from './completion/places.js'
import { powershellScript } from './completion/powershell.js'
import { zshScript } from './completion/zsh.js'
import { guide } from './guide.js'

const scripts: Readonly<Record<string, (places: Places) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
}

/** `prospect completion`: a script that completes commands, options and values; it needs nothing at run time. */
export function completionCommand(shell: Shell, map: CommandMap): Command {
  const command = shell
    .command('completion', 'Print a script that completes commands, options and values in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(scripts)))
  guide(
    command,
    [
      'completion bash > ~/.local/share/bash-completion/completions/prospect',
      'completion zsh > ~/.zfunc/_prospect',
      'completion fish > ~/.config/fish/completions/prospect.fish',
      'completion powershell >> $PROFILE',
    ],
    'To try it in this bash only: source <(prospect completion bash)\nAfter an upgrade, write it again.',
  )
  return shell.action(command, async ({ args: [name = ''] }) => {
    const script = scripts[name]
    if (script) await write(shell.context.streams.stdout, script(placesOf(await map())))
    return 0
  })
}
