import type { Command } from 'commander'
import { areaOf, operations } from '../../api/operations/table.js'
import { nearest } from '../../csv/names.js'
import { UsageError } from '../context/errors.js'

/** Refuses a word that is no command of its parent, with the one that was probably meant. */
export function checkWord(parent: Command, word: string, path: string = pathOf(parent)): void {
  const names = parent.commands.map((command) => command.name())
  if (names.includes(word)) return
  throw new UsageError(`${path} has no command "${word}".`, `${guess(word, names, path)} See: ${path} --help`)
}

function guess(word: string, names: readonly string[], path: string): string {
  const near = nearest(word, names)
  const guesses = [namedByApi(word, path), near === undefined ? [] : [`${path} ${near}`], elsewhere(word)]
  const meant = guesses.find(({ length }) => length > 0)
  return meant ? `Did you mean: ${meant.join(' or ')}?` : `It has: ${names.join(', ')}.`
}

/** Commands of other areas that end in a word. */
function elsewhere(word: string): readonly string[] {
  const ending = operations().filter(({ command }) => command.endsWith(` ${word}`))
  return [...new Set(ending.map(({ command }) => `prospect ${command}`))]
}

/** Commands of the operations that the API calls so, in this area: by the last word of their path, or of their id. */
function namedByApi(word: string, path: string): readonly string[] {
  const name = word.replaceAll('-', '_')
  const inArea = operations().filter(({ id }) => path === `prospect ${areaOf(id)}`)
  return inArea
    .filter((row) => row.path.endsWith(`/${name}`) || row.id.endsWith(`.${name}`))
    .map(({ command, flag }) => `prospect ${command}${flag ? ` --${flag}` : ''}`)
}

const mostMeant = 3

/** The options that were probably meant by one that a command lacks: the nearest, else the first with the same word in them. */
export function suggestOptions(typed: string, options: readonly string[]): readonly string[] {
  const near = nearest(typed, options)
  if (near !== undefined) return [near]
  const one = singular(typed.replace(/^--/, ''))
  return options.filter((option) => option.split('-').map(singular).includes(one)).slice(0, mostMeant)
}

const singular = (word: string): string => word.replace(/s$/, '')

/** The words that lead to a command. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
