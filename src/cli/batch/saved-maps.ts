import { join } from 'node:path'
import { parseJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import type { Mapping } from '../../batch/input/mapping.js'
import { nearest } from '../../csv/names.js'
import type { Context } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { prepareHome } from '../context/home.js'
import { readPrivate, writePrivate } from '../context/private-file.js'
import type { InputChoices, SavedMap } from './options.js'

type Maps = Readonly<Record<string, readonly string[]>>

/** The file of the maps that were kept. */
const fileOf = ({ home }: Context): string => join(home.folder, 'maps.json')

/** The choices with the map that `--use-map` names. */
export function withSavedMap<T extends InputChoices>(context: Context, choices: T, name: unknown): T {
  return typeof name === 'string' ? { ...choices, saved: savedMap(context, name) } : choices
}

function savedMap(context: Context, name: string): SavedMap {
  const maps = mapsOf(context)
  const pairs = Object.hasOwn(maps, name) ? maps[name] : undefined
  if (pairs) return { name, pairs }
  const names = Object.keys(maps)
  const meant = nearest(name, names)
  if (meant !== undefined) throw new UsageError(`There is no saved map "${name}".`, `Did you mean ${meant}?`)
  throw new UsageError(
    `There is no saved map "${name}".`,
    names.length > 0 ? `There are: ${names.join(', ')}.` : `Keep one with --save-map ${name}.`,
  )
}

/** Keeps a map under a name, where `--save-map` gives one; one that has the name is replaced. */
export function keepMap(context: Context, { columns }: Mapping, name: string): void {
  checkMapName(name)
  prepareHome(context.home)
  const pairs = columns.map(({ field, column }) => `${field}=${column}`)
  const maps: Maps = { ...mapsOf(context), [name]: pairs }
  writePrivate(fileOf(context), `${JSON.stringify(maps, null, 2)}\n`, context.ids.uuid())
}

/** Refuses what is no name. */
export function checkMapName(name: string): void {
  if (/^[\w.-]{1,64}$/.test(name) && name !== '__proto__') return
  throw new UsageError(
    `--save-map does not take "${name}".`,
    'Use letters, digits, dots, dashes and underscores.',
  )
}

function mapsOf(context: Context): Maps {
  const file = fileOf(context)
  const text = readPrivate(file)
  if (text === undefined) return {}
  const value = parsed(text)
  if (isMaps(value)) return value
  throw new UsageError(`${file} is not what --save-map wrote.`, 'Mend it, or remove it to begin anew.')
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const isMaps = (value: unknown): value is Maps =>
  isObject(value) &&
  Object.values(value).every(
    (pairs) => Array.isArray(pairs) && pairs.every((pair) => typeof pair === 'string'),
  )
