import type { Command } from 'commander'
import type { GlobalOptions, HomeContext, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { write } from '../../context/io.js'
import {
  type CommandEnvironment,
  createGroup,
  guide,
  type Invocation,
} from '../../options/command-environment.js'
import { changeProfile, currentProfile, keyNames, parseKeyName, profileKeys, useProfile } from './profiles.js'

/** `prospect config`: the settings of the profile in use, and where everything is. */
export function configCommand(environment: CommandEnvironment): Command {
  const config = createGroup(
    environment,
    ['config', 'Settings of this machine'],
    [listConfig, getConfig, setConfig, pathConfig],
  )
  return guide(config, ['config list', 'config set timeout 60', 'config path'])
}

const keysHelp = `Settings:\n${Object.entries(profileKeys)
  .map(([name, { description }]) => `  ${name.padEnd(10)} ${description}`)
  .join('\n')}\n  profile    the profile in use`

function listConfig(environment: CommandEnvironment): Command {
  const command = environment.command('list', 'Show the settings of the profile in use')
  guide(command, ['config list', 'config list --profile nightly'], keysHelp)
  return environment.action(command, async ({ globals }) => {
    await environment.print(listSettings(environment.context, globals), globals)
    return 0
  })
}

/** Returns every setting of the selected profile; null when it is not set. */
function listSettings(
  context: StreamsContext & HomeContext,
  globals: GlobalOptions,
): Readonly<Record<string, unknown>> {
  const { name, profile } = currentProfile(context, globals)
  const values = Object.keys(profileKeys).map((key) => [key, profile[parseKeyName(key)] ?? null])
  return { profile: name, ...Object.fromEntries(values) }
}

function getConfig(environment: CommandEnvironment): Command {
  const command = environment.command('get', 'Print one setting, bare; nothing when it was not set')
  command.argument('<name>', `one of profile, ${keyNames}`)
  guide(command, ['config get timeout'])
  return environment.action(command, async ({ args: [name = ''], globals }) => {
    if (name !== 'profile') parseKeyName(name)
    await printBare(environment, listSettings(environment.context, globals)[name], globals)
    return 0
  })
}

function setConfig(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Change one setting of the profile in use')
    .argument('<name>', `one of profile, ${keyNames}`)
    .argument('<value>', 'the value, or default to take it back')
  guide(
    command,
    ['config set timeout 60', 'config set max_wait default', 'config set profile nightly'],
    keysHelp,
  )
  return environment.action(command, (invocation) => changeSetting(environment, invocation))
}

async function changeSetting(
  environment: CommandEnvironment,
  { args: [name = '', value = ''], globals }: Invocation,
): Promise<number> {
  const { context } = environment
  if (name === 'profile') {
    await useProfile(context, value)
    await environment.print({ profile: value }, globals)
    return 0
  }
  const key = parseKeyName(name)
  const parsed = value === 'default' ? null : profileKeys[key].parse(value)
  if (parsed === undefined)
    throw new UsageError(
      `${name} does not take "${value}".`,
      `It takes ${profileKeys[key].description}, or default.`,
    )
  const { name: profile } = currentProfile(context, globals)
  await changeProfile(context, profile, { [key]: parsed })
  await environment.print({ profile, [name]: parsed }, globals)
  return 0
}

function pathConfig(environment: CommandEnvironment): Command {
  const command = environment.command(
    'path',
    'Print where the settings are; with --json, where everything is',
  )
  guide(
    command,
    ['config path', 'config path --json'],
    'PROSPECT_HOME=FOLDER puts everything into one folder.',
  )
  return environment.action(command, async ({ globals }) => {
    const { folder, config, credentials, engine, catalogue, state } = environment.context.home
    const paths = { folder, config, credentials, engine: withoutPassword(engine), catalogue, state }
    if (globals.format || globals.json) await environment.print(paths, globals)
    else await write(environment.context.streams.stdout, `${config}\n`)
    return 0
  })
}

const withoutPassword = (location: string): string =>
  location.replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, '$1:[password]@')

/** Prints a value without quotes, for scripts, unless a format was given. */
async function printBare(
  environment: CommandEnvironment,
  value: unknown,
  globals: GlobalOptions,
): Promise<void> {
  if (globals.format || globals.json) return environment.print(value ?? null, globals)
  if (value !== null && value !== undefined) await write(environment.context.streams.stdout, `${value}\n`)
}
