import { isObject } from '../../../../api/values/objects.js'
import type { Settings } from '../../../context/context.js'
import { UsageError } from '../../../context/errors.js'
import { baseUrlOf } from '../../../target/base-url.js'
import { builtIn, keyNames, profileKeys } from '../../setup/profile-settings.js'
import { counted } from '../context/counted.js'
import { reasonOf } from '../context/reason.js'
import type { Scene } from '../context/scene.js'
import { ok, orElse, problem, type Verdict, warning } from '../context/verdict.js'

/** Whether `config.json` says what this program understands. */
export function settingsFile(scene: Scene): readonly Verdict[] {
  const { config } = scene.home
  if (!scene.files.entry(config)) return [ok('There is no config.json: every setting has its default.')]
  const settings = scene.settings()
  if (!settings)
    return [problem(`${config} is not a JSON object.`, 'Correct it, or delete it to start again.')]
  const { profile: used, profiles = {}, ...unknown } = settings as Settings & Record<string, unknown>
  if (!isObject(profiles)) return [problem(`"profiles" in ${config} is not an object.`, `Correct ${config}`)]
  const names = Object.keys(profiles)
  const troubles = [
    ...unknownKeys(Object.keys(unknown), ''),
    ...names.flatMap((name) => profileTroubles(name, profiles[name])),
    ...(used === undefined || builtIn.includes(used) || names.includes(used)
      ? []
      : [problem(`The profile in use, ${used}, is not there.`, 'prospect profiles use default')]),
  ]
  return orElse(troubles, `config.json is in order: ${counted(names.length, 'profile')} of your own.`)
}

function profileTroubles(name: string, profile: unknown): readonly Verdict[] {
  if (!isObject(profile))
    return [problem(`The profile ${name} is not an object.`, `prospect profiles remove ${name}`)]
  const keys = Object.keys(profile)
  const isKnown = (key: string): key is keyof typeof profileKeys => Object.hasOwn(profileKeys, key)
  return [
    ...unknownKeys(
      keys.filter((key) => !isKnown(key)),
      ` in the profile ${name}`,
    ),
    ...keys.filter(isKnown).flatMap((key) => valueTroubles(name, key, profile[key])),
  ]
}

function unknownKeys(keys: readonly string[], where: string): readonly Verdict[] {
  if (keys.length === 0) return []
  const some = keys.length === 1 ? 'A setting is' : 'Settings are'
  return [warning(`${some} not known${where}: ${keys.join(', ')}.`, `Settings of a profile: ${keyNames}.`)]
}

function valueTroubles(name: string, key: keyof typeof profileKeys, value: unknown): readonly Verdict[] {
  const { parse, description } = profileKeys[key]
  const hint = `It takes ${description}: prospect config set ${key} default --profile ${name} takes it back.`
  try {
    if (parse(String(value)) !== undefined) return []
    return [problem(`${key} of the profile ${name} has a value it does not take.`, hint)]
  } catch (error) {
    // An address may hold a password: what is wrong with it is told without it.
    return [problem(`${key} of the profile ${name} cannot be used: ${reasonOf(error)}.`, hint)]
  }
}

/** Whether it is clear where requests go. */
export function target(scene: Scene): readonly Verdict[] {
  if (scene.settings() === undefined) return []
  try {
    const found = scene.target()
    if (found.kind === 'local') return [ok('Requests go to the engine of this machine.')]
    const how = found.direct ? ', directly' : ''
    return [ok(`Requests go to ${found.baseUrl}${how}.`), ...plainHttp(found.baseUrl)]
  } catch (error) {
    if (error instanceof UsageError) return [problem(error.message, error.hint)]
    throw error
  }
}

function plainHttp(baseUrl: string): readonly Verdict[] {
  try {
    baseUrlOf(baseUrl, 'The base url')
    return []
  } catch (error) {
    return error instanceof UsageError ? [warning(error.message, 'Use its https address.')] : []
  }
}
