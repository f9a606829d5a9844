import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Argument } from 'commander'
import type { Context, GlobalOptions, Streams } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { write } from '../../context/io.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { confirmLoss } from '../../output/prompt.js'

/** Scripts that ask `prospect __complete` for each completion. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# bash completion for prospect. For every new shell: source <(prospect completion bash)
_prospect() {
  local word
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <(prospect __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o default -F _prospect prospect
`,
  zsh: `#compdef prospect
# zsh completion for prospect. For every new shell, after compinit: source <(prospect completion zsh)
_prospect() {
  local -a list
  local name summary
  while IFS=$'\t' read -r name summary; do
    list+=("\${name//:/\\:}\${summary:+:$summary}")
  done < <(prospect __complete "\${(@Q)words[2,CURRENT]}" 2> /dev/null)
  if (( ! \${#list} )); then _files
  elif [[ "\${words[CURRENT]}" == -* ]]; then _describe -o option list
  else _describe command list
  fi
}
if [[ "\${funcstack[1]}" == _prospect ]]; then _prospect "$@"; else compdef _prospect prospect; fi
`,
  fish: `# fish completion for prospect. For every new shell:
#   prospect completion fish > ~/.config/fish/completions/prospect.fish
function __prospect_complete
  set -l current (commandline -ct)
  set -l found (prospect __complete (commandline -opc)[2..-1] "$current" 2> /dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c prospect -f -a '(__prospect_complete)'
`,
  // Older versions of PowerShell drop empty arguments; `=` stands for one.
  powershell: `# PowerShell completion for prospect. For every new shell, in your $PROFILE:
#   prospect completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName prospect -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $current = if ($wordToComplete) { $wordToComplete } else { '=' }
  prospect __complete @words $current | ForEach-Object {
    $name, $summary = $_ -split "\`t", 2
    $text = if ($name -match '\\s') { "'$name'" } else { $name }
    $tip = if ($summary) { $summary } else { $name }
    [System.Management.Automation.CompletionResult]::new($text, $name, 'ParameterValue', $tip)
  }
}
`,
}

/** Where a shell looks for completions, and what its start file needs for that. */
interface Place {
  readonly file: string
  readonly start?: { readonly file: string; readonly lines: string }
}

function placeOf(shell: string, { env }: Streams): Place | undefined {
  const home = env.HOME ?? homedir()
  if (shell === 'bash') {
    const data = env.XDG_DATA_HOME || join(home, '.local/share')
    return { file: join(data, 'bash-completion/completions/prospect') }
  }
  if (shell === 'fish') {
    const config = env.XDG_CONFIG_HOME || join(home, '.config')
    return { file: join(config, 'fish/completions/prospect.fish') }
  }
  if (shell !== 'zsh') return undefined
  const folder = env.ZDOTDIR || home
  const lines = `\nfpath=('${folder}/.zfunc' $fpath)\nautoload -Uz compinit && compinit\n`
  return { file: join(folder, '.zfunc/_prospect'), start: { file: join(folder, '.zshrc'), lines } }
}

/** Puts the script of a shell into place, after asking. Returns the exit code. */
async function install(context: Context, shell: string, globals: GlobalOptions): Promise<number> {
  const place = placeOf(shell, context.streams)
  if (!place)
    throw new UsageError(
      `--install does not know where ${shell} looks for completions.`,
      `Write it there yourself: prospect completion ${shell}`,
    )
  const { file, start } = place
  const begun = start && existsSync(start.file) ? readFileSync(start.file, 'utf8') : ''
  const added = start && !begun.includes('/.zfunc') ? start : undefined
  const more = added ? `, and adds ${added.file} two lines that load it` : ''
  await confirmLoss(context, `This writes ${file}${more}.`, globals)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, scripts[shell] ?? '')
  if (added) appendFileSync(added.file, added.lines)
  context.notify(`Completion is in ${file}. Open a new ${shell} to use it.`, globals)
  return 0
}

/** `prospect completion`: prints a script that completes commands, options and values. */
export const completionCommand: CommandFactory = ({ command }) =>
  command('completion', 'Print a script that completes commands, options and values in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(scripts)))
    .option('--install', 'put it where your shell looks for it, after asking')
    .run(async (context, { args: [name = ''], options, globals }) => {
      if (options.install === true) return install(context, name, globals)
      await write(context.streams.stdout, scripts[name] ?? '')
      return 0
    })
