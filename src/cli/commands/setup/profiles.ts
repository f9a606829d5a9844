import type { Command } from 'commander'
import type { Context, GlobalOptions, HomeContext, Profile, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { targetOf } from '../../target/resolve-target.js'
import {
  builtIn,
  changeProfile,
  keyNamed,
  profileKeys,
  removeProfile,
  useProfile,
} from './profile-settings.js'

/** `prospect profiles`: sets of settings to choose between, with `--profile` or for good. */
export function profilesCommand(environment: CommandEnvironment): Command {
  const profiles = asGroup(environment.command('profiles', 'Named sets of settings'))
  for (const part of [listProfiles, useCommand, addProfile, removeCommand])
    profiles.addCommand(part(environment))
  return guide(profiles, ['profiles add nightly --max-wait 600', 'profiles use nightly', 'profiles list'])
}

function listProfiles(environment: CommandEnvironment): Command {
  const command = guide(environment.command('list', 'List the profiles'), ['profiles list'])
  return environment.action(command, async ({ globals }) => {
    const columns = ['name', 'target', 'base_url', 'plan', 'timeout', 'max_wait', 'used']
    await environment.print(listed(environment.context), globals, { columns })
    return 0
  })
}

function listed({ settings }: HomeContext) {
  const { profiles = {}, profile: used = 'default' } = settings()
  const names = [...new Set([...builtIn, ...Object.keys(profiles)])]
  return names.map((name) => ({
    name,
    target: targetIn(profiles[name]),
    base_url: profiles[name]?.base_url ?? null,
    plan: profiles[name]?.plan ?? null,
    timeout: profiles[name]?.timeout ?? null,
    max_wait: profiles[name]?.max_wait ?? null,
    used: name === used,
  }))
}

const targetIn = ({ target, base_url }: Profile = {}): 'local' | 'remote' =>
  target ?? (base_url === undefined ? 'local' : 'remote')

function useCommand(environment: CommandEnvironment): Command {
  const command = environment.command('use', 'Use a profile from now on').argument('<name>', 'its name')
  guide(command, ['profiles use nightly', 'profiles use default'])
  return environment.action(command, async ({ args: [name = ''], globals }) => {
    await useProfile(environment.context, name)
    await environment.print({ profile: name }, globals)
    return 0
  })
}

function addProfile(environment: CommandEnvironment): Command {
  const command = environment
    .command('add', 'Add a profile; the options that are given become its settings')
    .argument('<name>', 'letters, digits, - and _')
    .option('--plan <name>', "the plan of the server's workspace, such as growth")
    .option('--idempotency <header>', 'the header of idempotency keys that the server honours, or none')
    .option('--public-url <url>', 'where the server reaches this machine, for deliveries')
  guide(
    command,
    [
      'profiles add nightly --timeout 120 --max-wait 600',
      `profiles add team --base-url ${exampleUrl} --plan growth`,
    ],
    'Then: prospect login --profile NAME, and prospect profiles use NAME',
  )
  return environment.action(command, async ({ args: [name = ''], options, globals }) => {
    checkNew(environment.context, name, globals)
    const change = {
      ...{ base_url: globals.baseUrl, timeout: globals.timeout, max_wait: globals.maxWait },
      ...{ network_name: globals.networkName, premium_name: globals.premiumName },
      ...{ plan: options.plan as string | undefined, idempotency: options.idempotency as string | undefined },
      public_url: options.publicUrl as string | undefined,
    }
    const settings = Object.fromEntries(
      Object.entries(change).map(([key, value]) => [key, checked(key, value)]),
    )
    await changeProfile(environment.context, name, settings)
    await environment.print(
      { name, target: settings.base_url === null ? 'local' : 'remote', ...settings },
      globals,
    )
    return 0
  })
}

const exampleUrl = 'https://api.example.com/api/v2'

/** A setting as it is kept; null where it was not given. */
function checked(key: string, value: string | number | undefined): string | number | null {
  if (value === undefined) return null
  const parsed = profileKeys[keyNamed(key)].parse(String(value))
  if (parsed === undefined)
    throw new UsageError(
      `--${key.replaceAll('_', '-')} does not take "${value}".`,
      profileKeys[keyNamed(key)].description,
    )
  return parsed
}

function checkNew(
  { settings, streams }: StreamsContext & HomeContext,
  name: string,
  globals: GlobalOptions,
): void {
  if (!/^[A-Za-z0-9][\w-]{0,63}$/.test(name))
    throw new UsageError(`"${name}" cannot be the name of a profile.`, 'Use letters, digits, - and _.')
  if (listed({ settings } as Context).some((each) => each.name === name))
    throw new UsageError(
      `There is a profile ${name} already.`,
      `Change it with: prospect config set --profile ${name}`,
    )
  targetOf(globals, streams.env, {})
}

function removeCommand(environment: CommandEnvironment): Command {
  const command = environment.command('remove', 'Remove a profile').argument('<name>', 'its name')
  guide(command, ['profiles remove nightly'])
  return environment.action(command, async ({ args: [name = ''], globals }) => {
    if (builtIn.includes(name))
      throw new UsageError(`The profile ${name} is always there.`, 'Remove another one.')
    const wasUsed = await removeProfile(environment.context, name)
    if (wasUsed) environment.context.notify('It was in use; the profile default is now.', globals)
    await environment.print({ removed: name }, globals)
    return 0
  })
}
