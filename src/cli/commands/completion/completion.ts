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

interface ScriptLocation {
  readonly file: string
  readonly start?: { readonly file: string; readonly lines: string }
}

function placeOf(shell: string, { env }: Streams): ScriptLocation | undefined {
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

async function install(context: Context, shell: string): Promise<void> {
  const place = placeOf(shell, context.streams)
  if (!place) throw new Refusal('usage.install_place', { shell })
  const { file, start } = place
  const begun = start && existsSync(start.file) ? readFileSync(start.file, 'utf8') : ''
  const added = start && !begun.includes('/.zfunc') ? start : undefined
  const more = added ? `, and adds ${added.file} two lines that load it` : ''
  await confirmLoss(context, `This writes ${file}${more}.`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, scriptOf(shell))
  if (added) appendFileSync(added.file, added.lines)
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
