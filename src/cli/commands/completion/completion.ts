import { Argument, type Command } from 'commander'
import { write } from '../../context/io.js'
import type { CommandMap } from '../../shell/command-map.js'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { bashScript } from './bash.js'
import { fishScript } from './fish.js'
import { type Places, placesOf } from './places.js'
import { powershellScript } from './powershell.js'
import { zshScript } from './zsh.js'

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
