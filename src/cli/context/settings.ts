import { isObject, resultOr } from '../../api/values/objects.js'
import { type Context, type Home, type Profile, profileProperties, type Settings } from './context.js'
import { UsageError } from './errors.js'
import { readPrivateJson } from './home.js'

/** Schema of `config.json`, for writing; reading checks only what it needs. */
const settingsSchema = {
  profile: { type: 'string', minLength: 1 },
  profiles: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      additionalProperties: false,
      properties: profileProperties,
    },
  },
} as const

/** Reads the settings. Every command does, so what writes them is not loaded. */
export function readSettings(home: Home): Settings {
  const value = readPrivateJson(home.config)
  if (value === undefined) return {}
  if (isObject(value)) return value
  throw new UsageError(`${home.config} is not a JSON object.`, 'Correct it, or delete it to start again.')
}

/** Opens the settings for writing; every change is checked against the schema and written at once, 0600. */
export async function openSettings(home: Home) {
  const { default: Conf } = await import('conf')
  readSettings(home)
  return new Conf<{ profile?: string; profiles?: Record<string, Profile> }>({
    cwd: home.folder,
    configName: 'config',
    configFileMode: 0o600,
    schema: settingsSchema,
    accessPropertiesByDotNotation: true,
  })
}

/** Returns the profile of a command: that of the option, else of the environment, else the one in use. */
export const profileInUse = ({ globals, settings, streams }: Context): Profile =>
  profileOf(settings(), globals.profile ?? streams.env.PROSPECT_PROFILE)

/**
 * Whether a maximum price is a large part of the balance: above `confirm_above`, 10 % by default. A price or a balance that
 * is not known counts as large (null), and nothing free does.
 */
export function isLargePrice(context: Context, most: number | null, balance: number | null): boolean {
  if (most === 0) return false
  const percent = Number.parseFloat(profileInUse(context).confirm_above ?? '10')
  return most === null || balance === null || most > (balance * percent) / 100
}

/** Returns the setting `format`; `undefined` where the settings cannot be read, which is reported where they are needed. */
export const formatSetting = (context: Context): Profile['format'] =>
  resultOr(undefined, () => profileInUse(context).format)

/** Returns the profile of a name, else the one in use. Throws UsageError where there is none of that name. */
export function profileOf(settings: Settings, name: string | undefined): Profile {
  const wanted = name ?? settings.profile
  const known = settings.profiles ?? {}
  if (wanted === undefined || wanted === 'default' || wanted === 'local')
    return known[wanted ?? 'default'] ?? {}
  const profile = known[wanted]
  if (profile) return profile
  const names = ['default', 'local', ...Object.keys(known)].filter(
    (each, at, all) => all.indexOf(each) === at,
  )
  throw new UsageError(
    `There is no profile named ${wanted}.`,
    `Known profiles: ${names.join(', ')}. To add this one: prospect profiles add ${wanted} --base-url URL`,
  )
}
