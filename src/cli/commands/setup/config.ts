import type { Command } from 'commander'
import type { GlobalOptions, HomeContext, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { write } from '../../context/io.js'
import { asGroup, guide, type Invocation, type Shell } from '../../shell/shell.js'
import {
  changeProfile,
  currentProfile,
  keyNamed,
  keyNames,
  profileKeys,
  useProfile,
} from './profile-settings.js'

/** `prospect config`: the settings of the profile in use, and where everything is. */
export function configCommand(shell: Shell): Command {
  const config = asGroup(shell.command('config', 'Settings of this machine'))
  for (const part of [listConfig, getConfig, setConfig, pathConfig]) config.addCommand(part(shell))
  return guide(config, ['config list', 'config set timeout 60', 'config path'])
}

const keysHelp = `Settings:\n${Object.entries(profileKeys)
  .map(([name, { description }]) => `  ${name.padEnd(10)} ${description}`)
  .join('\n')}\n  profile    the profile in use`

function listConfig(shell: Shell): Command {
  const command = shell.command('list', 'Show the settings of the profile in use')
  guide(command, ['config list', 'config list --profile nightly'], keysHelp)
  return shell.action(command, async ({ globals }) => {
    await shell.print(effective(shell.context, globals), globals)
    return 0
  })
}

/** Every setting of the profile meant; null where it was not set. */
function effective(
  context: StreamsContext & HomeContext,
  globals: GlobalOptions,
): Readonly<Record<string, unknown>> {
  const { name, profile } = currentProfile(context, globals)
  const values = Object.keys(profileKeys).map((key) => [key, profile[keyNamed(key)] ?? null])
  return { profile: name, ...Object.fromEntries(values) }
}

function getConfig(shell: Shell): Command {
  const command = shell.command('get', 'Print one setting, bare; nothing when it was not set')
  command.argument('<name>', `one of profile, ${keyNames}`)
  guide(command, ['config get timeout'])
  return shell.action(command, async ({ args: [name = ''], globals }) => {
    if (name !== 'profile') keyNamed(name)
    await printBare(shell, effective(shell.context, globals)[name], globals)
    return 0
  })
}

function setConfig(shell: Shell): Command {
  const command = shell
    .command('set', 'Change one setting of the profile in use')
    .argument('<name>', `one of profile, ${keyNames}`)
    .argument('<value>', 'the value, or default to take it back')
  guide(
    command,
    ['config set timeout 60', 'config set max_wait default', 'config set profile nightly'],
    keysHelp,
  )
  return shell.action(command, (invocation) => set(shell, invocation))
}

async function set(shell: Shell, { args: [name = '', value = ''], globals }: Invocation): Promise<number> {
  const { context } = shell
  if (name === 'profile') {
    await useProfile(context, value)
    await shell.print({ profile: value }, globals)
    return 0
  }
  const key = keyNamed(name)
  const parsed = value === 'default' ? null : profileKeys[key].parse(value)
  if (parsed === undefined)
    throw new UsageError(
      `${name} does not take "${value}".`,
      `It takes ${profileKeys[key].description}, or default.`,
    )
  const { name: profile } = currentProfile(context, globals)
  await changeProfile(context, profile, { [key]: parsed })
  await shell.print({ profile, [name]: parsed }, globals)
  return 0
}

function pathConfig(shell: Shell): Command {
  const command = shell.command('path', 'Print where the settings are; with --json, where everything is')
  guide(
    command,
    ['config path', 'config path --json'],
    'PROSPECT_HOME=FOLDER puts everything into one folder.',
  )
  return shell.action(command, async ({ globals }) => {
    const { folder, config, credentials, engine, catalogue, state } = shell.context.home
    const paths = { folder, config, credentials, engine: withoutPassword(engine), catalogue, state }
    if (globals.format || globals.json) await shell.print(paths, globals)
    else await write(shell.context.streams.stdout, `${config}\n`)
    return 0
  })
}

const withoutPassword = (location: string): string =>
  location.replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, '$1:[password]@')

/** One value as scripts want it, unless a format was asked for. */
async function printBare(shell: Shell, value: unknown, globals: GlobalOptions): Promise<void> {
  if (globals.format || globals.json) return shell.print(value ?? null, globals)
  if (value !== null && value !== undefined) await write(shell.context.streams.stdout, `${value}\n`)
}
