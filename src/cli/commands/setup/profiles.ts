import { InvalidArgumentError } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import type { Fields } from '../../../api/values/objects.js'
import { formats } from '../../../runs/output/formats.js'
import { writeTo } from '../../../runs/output/writer.js'
import { withoutPassword } from '../../../storage/driver/connection.js'
import type { Context, Machine, Profile } from '../../context/context.js'
import { forgetKeysOf } from '../../context/credentials.js'
import { openSettings, profileInUse, profileOf } from '../../context/home.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { attribute } from '../../options/schema-options.js'
import {
  durationMs,
  notNegative,
  parseDecimal,
  positive,
  positiveWhole,
  whole,
} from '../../options/values.js'
import { publicAddress } from '../../options/webhooks.js'
import { chosenFormat } from '../../output/output.js'
import { print } from '../../output/print.js'
import { grid } from '../../output/table.js'
import type { Look } from '../../output/text.js'
import { baseUrlsOf, profileName, syncBaseUrlsOf, targetOf } from '../../target/resolve-target.js'

export const profilesCommand: CommandFactory = ({ command, group }) =>
  group('profiles', 'Named sets of settings', [
    command('list', 'List the profiles')
      .withTarget()
      .printResult(async (context) => toProfileRows(context)),
    command('use', 'Use a profile from now on')
      .withTarget()
      .argument('<name>', 'its name')
      .printResult(async (context, { args: [name = ''] }) => {
        await useProfile(context, name)
        return { profile: name }
      }),
    command('add', 'Add a profile; the options that are given become its settings')
      .withTarget('baseUrl', 'insecureHttp', 'networkName', 'premiumName', 'timeout', 'maxWait')
      .argument('<name>', 'letters, digits, - and _')
      .withOptions({ plan: ['<name>', "the plan of the server's workspace, such as growth"] })
      .printResult(async (context, { args: [name = ''], options }) => {
        if (!/^[A-Za-z0-9][\w-]{0,63}$/.test(name)) throw new Refusal('usage.profile_name', { name })
        if (toProfileRows(context).some((each) => each.name === name))
          throw new Refusal('usage.profile_exists', { name })
        targetOf(context.globals, context.streams.env, {})
        const given: Fields = { ...context.globals, ...options }
        const settings = Object.fromEntries(
          typedSettings.map((key) => {
            const flag = key.replaceAll('_', '-')
            const value = given[attribute(flag)]
            return [key, value === undefined ? null : readSetting(key, String(value), `--${flag}`)]
          }),
        )
        await changeProfile(context, name, settings)
        return { name, target: settings.base_url === null ? 'local' : 'remote', ...settings }
      }),
    command('remove', 'Remove a profile')
      .withTarget()
      .argument('<name>', 'its name')
      .printResult(async (context, { args: [name = ''] }) => {
        if (builtIn.includes(name)) throw new Refusal('usage.profile_built_in', { name })
        const wasUsed = await removeProfile(context, name)
        if (wasUsed) context.notify('It was in use. The profile default is used now.')
        return { removed: name }
      }),
  ])

/** Settings that are options of commands, too; the others are set with `config set`. */
const typedSettings = 'base_url insecure_http timeout max_wait network_name premium_name plan'.split(' ')

function toProfileRows({ settings }: Machine) {
  const { profiles = {}, profile: used = 'default' } = settings()
  const names = [...new Set([...builtIn, ...Object.keys(profiles)])]
  return names.map((name) => {
    const { base_url = null, plan = null, timeout = null, max_wait = null, ...rest } = profiles[name] ?? {}
    const target = rest.target ?? (base_url === null ? 'local' : 'remote')
    return { name, target, base_url, plan, timeout, max_wait, used: name === used }
  })
}

function parsePercent(text: string): string | undefined {
  const value = parseDecimal(text.replace(/ ?%$/, ''))
  return value >= 0 && value <= 100 ? `${value}%` : undefined
}

const fieldWord = /^[a-z][a-z0-9_]{0,39}$/

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text.trim()) ? text.trim() : undefined)

/** What each setting takes. For another value, `parse` returns `undefined` or throws as the reader of an option does. */
const profileKeys = {
  timeout: ['seconds until a request times out', positive],
  max_wait: ['seconds to wait for a rate limit', notNegative],
  base_url: [
    'the address of a server, which ends in /api/v2; several, of one database, with commas',
    // Permission for an http address is another setting, or given with each command.
    (text) => baseUrlsOf(text, 'base_url', true).join(),
  ],
  sync_base_url: [
    'the address of its synchronous waterfall, where it has one; ends in /v2; several with commas',
    (text) => syncBaseUrlsOf(text, true).join(),
  ],
  insecure_http: [
    'yes: base_url and sync_base_url may be http addresses of another machine, on a trusted network',
    (text) => ({ yes: 'yes', true: 'yes', no: 'no', false: 'no' })[text],
  ],
  target: ['local or remote', matching(/^(?:local|remote)$/)],
  plan: ["the plan of the server's workspace, such as growth", matching(/^[\w -]{1,64}$/)],
  idempotency: [
    'the header of idempotency keys that the server supports, or none',
    matching(/^[A-Za-z0-9-]{1,64}$/),
  ],
  network_name: ["the server's word for network in fields", matching(fieldWord)],
  premium_name: ["the server's word for premium in fields", matching(fieldWord)],
  public_url: [
    'where the server reaches this machine, in place of --public-url',
    (text) => publicAddress(text) && text,
  ],
  max_age: [
    'how old a stored answer may be that is used again, such as 90d; 0 for none (default: 30d in a batch)',
    (text) => (Number.isFinite(durationMs(text)) ? text : undefined),
  ],
  max_credits: ['the most credits that a command may spend', whole],
  max_credits_per_day: ['the most credits that the commands of this profile may spend in a day (UTC)', whole],
  format: [
    `the format on a terminal: ${formats.join(', ')}`,
    (text) => formats.find((each) => each === text),
  ],
  concurrency: ['the number of rows of a batch that are looked up at the same time', positiveWhole],
  pager: ['the command that shows long text, such as less -R', matching(/^.{1,200}$/)],
  confirm_above: [
    'the percentage of the balance above which a question is answered no by default, such as 10%',
    parsePercent,
  ],
} as const satisfies Partial<Record<keyof Profile, Setting>>

type Setting = readonly [description: string, parse: (text: string) => number | string | undefined]

type ProfileKey = keyof typeof profileKeys

const keyNames = Object.keys(profileKeys).join(', ')

/** Returns the setting with a name. Throws a `Refusal` when there is none. */
function parseKeyName(name: string): ProfileKey {
  const key = name.replaceAll('-', '_')
  if (Object.hasOwn(profileKeys, key)) return key as ProfileKey
  throw new Refusal('usage.no_setting', { name, keyNames })
}

/** Returns a setting as it is stored. Throws a `Refusal` for an unknown name, or a value that it does not take. */
export function readSetting(name: string, value: string, typed = name): number | string {
  const [description, parse]: Setting = profileKeys[parseKeyName(name)]
  try {
    const parsed = parse(value)
    if (parsed !== undefined) return parsed
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
  }
  throw new Refusal('usage.setting_value', { typed, value, description })
}

/** Returns the selected profile: of the option, else of the environment, else the one in use. */
export function currentProfile(context: Context) {
  const name = profileName(context)
  return { name, profile: profileInUse(context) }
}

const builtIn: readonly string[] = ['default', 'local']

/** Changes settings of a profile, which is created if needed; null removes a setting. */
export async function changeProfile(
  context: Machine,
  name: string,
  change: Partial<Record<ProfileKey, number | string | null>>,
): Promise<void> {
  const store = await openSettings(context.home)
  const profiles = store.get('profiles') ?? {}
  const changed = Object.entries({ ...profiles[name], ...change }).filter(([, value]) => value !== null)
  store.set('profiles', { ...profiles, [name]: Object.fromEntries(changed) })
}

async function useProfile(context: Machine, name: string): Promise<void> {
  profileOf(context.settings(), name)
  const store = await openSettings(context.home)
  store.set('profile', name)
}

/** Removes a profile. Returns whether it was in use; `default` is used then. */
async function removeProfile(context: Machine, name: string): Promise<boolean> {
  profileOf(context.settings(), name)
  const store = await openSettings(context.home)
  const { [name]: _, ...rest } = store.get('profiles') ?? {}
  store.set('profiles', rest)
  // A later profile of that name must not have its keys.
  forgetKeysOf(context, name)
  const wasUsed = store.get('profile') === name
  if (wasUsed) store.delete('profile')
  return wasUsed
}

export const configCommand: CommandFactory = ({ command, group }) =>
  group('config', 'Settings of this machine', [
    command('list', 'Show the settings of the profile in use')
      .withTarget('profile')
      .addNote(keysHelp)
      .printResult(
        async (context) => {
          const values = listSettings(context)
          return { ...values, sources: sourcesOf(context, values) }
        },
        { layout: formatSettings },
      ),
    command('get', 'Print the value of one setting; nothing if it is not set')
      .withTarget('profile')
      .argument('<name>', `one of profile, ${keyNames}`)
      .run(async (context, { args: [name = ''] }) => {
        if (name !== 'profile') parseKeyName(name)
        const value = listSettings(context)[name]
        // Without quotes, for scripts, unless a format was given.
        if (chosenFormat(context.globals)) await print(context, value ?? null)
        else if (value !== null && value !== undefined) await writeTo(context.streams.stdout, `${value}\n`)
      }),
    command('set', 'Change one setting of the profile in use')
      .withTarget('profile')
      .argument('<name>', 'a setting, as config list shows them')
      .argument('<value>', 'the value, or default to reset it')
      .addNote(keysHelp)
      .run(changeSetting),
    command('unset', 'Reset one setting of the profile in use')
      .withTarget('profile')
      .argument('<name>', `one of ${keyNames}`)
      .run((context, { args: [name = ''], ...given }) =>
        changeSetting(context, { ...given, args: [name, 'default'] }),
      ),
    command('path', 'Print where the settings are; with --json, where everything is')
      .withTarget()
      .run(async (context) => {
        const { folder, config, credentials, engine, catalogue, state } = context.home
        const paths = { folder, config, credentials, engine: withoutPassword(engine), catalogue, state }
        if (chosenFormat(context.globals)) await print(context, paths)
        else await writeTo(context.streams.stdout, `${config}\n`)
      }),
  ])

const keysHelp = `Settings:\n${Object.entries(profileKeys)
  .map(([name, [description]]) => `  ${name.padEnd(20)} ${description}`)
  .join('\n')}\n  ${'profile'.padEnd(20)} the profile in use`

/** Returns where each value comes from: the option, the environment, the profile or the default. */
function sourcesOf({ streams: { env }, settings, globals }: Context, values: Fields): Fields {
  const sources = Object.entries(values).map(([name, value]) => {
    if (name === 'base_url' && env.PROSPECT_BASE_URL) return [name, 'environment']
    return [name, value === null ? 'default' : 'profile']
  })
  const isDefault = settings().profile === undefined
  const given = env.PROSPECT_PROFILE ? 'environment' : isDefault ? 'default' : 'profile'
  return { ...Object.fromEntries(sources), profile: globals.profile ? 'option' : given }
}

/** What holds where a setting is not set. */
const defaults: Fields = { max_wait: '10', format: 'table', concurrency: '256', confirm_above: '10%' }

function formatSettings(body: unknown, look: Look): string {
  const { sources, ...values } = body as { readonly sources: Fields }
  const rows = Object.entries(values).map(([setting, value]) => ({
    setting,
    value: value ?? defaults[setting] ?? null,
    source: sources[setting],
  }))
  return grid(['setting', 'value', 'source'], rows, look)
}

/** Returns every setting of the selected profile; null when it is not set. */
function listSettings(context: Context): Fields {
  const { name, profile } = currentProfile(context)
  const address = context.streams.env.PROSPECT_BASE_URL
  const given: Profile = { ...profile, ...(address ? { base_url: address } : {}) }
  const values = Object.keys(profileKeys).map((key) => [key, given[parseKeyName(key)] ?? null])
  return { profile: name, ...Object.fromEntries(values) }
}

async function changeSetting(context: Context, { args: [name = '', value = ''] }: Invocation) {
  if (name === 'profile') {
    await useProfile(context, value)
    return print(context, { profile: value })
  }
  const key = parseKeyName(name)
  const parsed = value === 'default' ? null : readSetting(name, value)
  const { name: profile } = currentProfile(context)
  await changeProfile(context, profile, { [key]: parsed })
  await print(context, { profile, [name]: parsed })
}
