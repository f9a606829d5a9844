import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Argument } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import { writeTo } from '../../../runs/output/writer.js'
import type { Context, Streams } from '../../context/context.js'
import type { CommandFactory } from '../../options/command-environment.js'
import { confirmLoss } from '../../output/prompt.js'
import texts from './scripts.json' with { type: 'json' }

/** Older versions of PowerShell drop empty arguments, so that its script sends `=` for one. */
const scripts: Readonly<Record<string, readonly string[]>> = texts

const scriptOf = (shell: string): string => (scripts[shell] ?? []).map((line) => `${line}\n`).join('')

/** Returns where a shell looks for the script; `undefined` where that is not known. */
function placeOf(shell: string, { env }: Streams): string | undefined {
  const home = env.HOME ?? homedir()
  const places: Readonly<Record<string, string>> = {
    bash: join(env.XDG_DATA_HOME || join(home, '.local/share'), 'bash-completion/completions/prospect'),
    fish: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'fish/completions/prospect.fish'),
    zsh: join(env.ZDOTDIR || home, '.zfunc/_prospect'),
  }
  return places[shell]
}

async function install(context: Context, shell: string): Promise<void> {
  const file = placeOf(shell, context.streams)
  if (file === undefined) throw new Refusal('usage.install_place', { shell })
  const folder = dirname(file)
  // What zsh reads at its start has to name the folder.
  const start = join(dirname(folder), '.zshrc')
  const isLoaded = existsSync(start) && readFileSync(start, 'utf8').includes('/.zfunc')
  const lines = `\nfpath=('${folder}' $fpath)\nautoload -Uz compinit && compinit\n`
  const added = shell === 'zsh' && !isLoaded ? lines : undefined
  const more = added ? `, and adds ${start} two lines that load it` : ''
  await confirmLoss(context, `This writes ${file}${more}.`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, scriptOf(shell))
  if (added) appendFileSync(start, added)
  context.notify(`Completion is in ${file}. Open a new ${shell} to use it.`)
}

export const completionCommand: CommandFactory = ({ command }) =>
  command('completion', 'Print a script that completes commands, options and values in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(scripts)))
    .option('--install', 'put it where your shell looks for it, after asking')
    .run(async (context, { args: [name = ''], options }) => {
      if (options.install === true) return install(context, name)
      await writeTo(context.streams.stdout, scriptOf(name))
    })
