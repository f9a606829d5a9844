import { writeTo } from '../../../runs/output/writer.js'
import type { Context, GlobalOptions, Profile } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { grid } from '../../output/table.js'
import type { Look } from '../../output/text.js'
import { changeProfile, currentProfile, keyNames, parseKeyName, profileKeys, useProfile } from './profiles.js'

/** `prospect config`: the settings of the profile in use, and where everything is. */
export const configCommand: CommandFactory = ({ group }) =>
  group('config', 'Settings of this machine', [listConfig, getConfig, setConfig, unsetConfig, pathConfig])

const keysHelp = `Settings:\n${Object.entries(profileKeys)
  .map(([name, { description }]) => `  ${name.padEnd(20)} ${description}`)
  .join('\n')}\n  ${'profile'.padEnd(20)} the profile in use`

const listConfig: CommandFactory = ({ command }) =>
  command('list', 'Show the settings of the profile in use')
    .addNote(keysHelp)
    .printResult(
      async (context) => {
        const values = listSettings(context)
        return { ...values, sources: sourcesOf(context, context.globals, values) }
      },
      { layout: formatSettings },
    )

type SettingSource = 'option' | 'environment' | 'profile' | 'default'

function sourcesOf(
  { streams: { env }, settings }: Context,
  { profile }: GlobalOptions,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, SettingSource>> {
  const sources = Object.entries(values).map(([name, value]): [string, SettingSource] => {
    if (name === 'base_url' && env.PROSPECT_BASE_URL) return [name, 'environment']
    return [name, value === null ? 'default' : 'profile']
  })
  const isDefault = settings().profile === undefined
  const chosen = profile ? 'option' : env.PROSPECT_PROFILE ? 'environment' : isDefault ? 'default' : 'profile'
  return { ...Object.fromEntries(sources), profile: chosen }
}

/** What holds where a setting is not set. */
const defaults: Readonly<Record<string, string>> = {
  max_wait: '10',
  format: 'table',
  concurrency: '256',
  confirm_above: '10%',
}

function formatSettings(body: unknown, look: Look): string {
  const { sources, ...values } = body as { readonly sources: Readonly<Record<string, SettingSource>> }
  const rows = Object.entries(values).map(([setting, value]) => ({
    setting,
    value: value ?? defaults[setting] ?? null,
    source: sources[setting],
  }))
  return grid(['setting', 'value', 'source'], rows, look)
}

/** Returns every setting of the selected profile; null when it is not set. */
function listSettings(context: Context): Readonly<Record<string, unknown>> {
  const { name, profile } = currentProfile(context)
  const address = context.streams.env.PROSPECT_BASE_URL
  const given: Profile = { ...profile, ...(address ? { base_url: address } : {}) }
  const values = Object.keys(profileKeys).map((key) => [key, given[parseKeyName(key)] ?? null])
  return { profile: name, ...Object.fromEntries(values) }
}

const getConfig: CommandFactory = ({ command }) =>
  command('get', 'Print the value of one setting; nothing if it is not set')
    .argument('<name>', `one of profile, ${keyNames}`)
    .run(async (context, { args: [name = ''] }) => {
      if (name !== 'profile') parseKeyName(name)
      await printBare(context, listSettings(context)[name])
    })

const setConfig: CommandFactory = ({ command }) =>
  command('set', 'Change one setting of the profile in use')
    .argument('<name>', 'a setting, as config list shows them')
    .argument('<value>', 'the value, or default to reset it')
    .addNote(keysHelp)
    .run(changeSetting)

async function changeSetting(
  context: Context,
  { args: [name = '', value = ''] }: Invocation,
): Promise<number> {
  if (name === 'profile') {
    await useProfile(context, value)
    await print(context, { profile: value })
    return 0
  }
  const key = parseKeyName(name)
  const parsed = value === 'default' ? null : profileKeys[key].parse(value)
  if (parsed === undefined)
    throw new UsageError(
      `${name} does not take "${value}".`,
      `It takes ${profileKeys[key].description}, or default.`,
    )
  const { name: profile } = currentProfile(context)
  await changeProfile(context, profile, { [key]: parsed })
  await print(context, { profile, [name]: parsed })
  return 0
}

const unsetConfig: CommandFactory = ({ command }) =>
  command('unset', 'Reset one setting of the profile in use')
    .argument('<name>', `one of ${keyNames}`)
    .run((context, { args: [name = ''], ...given }) =>
      changeSetting(context, { ...given, args: [name, 'default'] }),
    )

const pathConfig: CommandFactory = ({ command }) =>
  command('path', 'Print where the settings are; with --json, where everything is').run(async (context) => {
    const { folder, config, credentials, engine, catalogue, state } = context.home
    const paths = { folder, config, credentials, engine: withoutPassword(engine), catalogue, state }
    if (context.globals.format || context.globals.json) await print(context, paths)
    else await writeTo(context.streams.stdout, `${config}\n`)
  })

const withoutPassword = (location: string): string =>
  location.replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, '$1:[password]@')

/** Prints a value without quotes, for scripts, unless a format was given. */
async function printBare(context: Context, value: unknown): Promise<void> {
  if (context.globals.format || context.globals.json) return print(context, value ?? null)
  if (value !== null && value !== undefined) await writeTo(context.streams.stdout, `${value}\n`)
}
