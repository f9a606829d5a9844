import type { Command } from 'commander'
import { areaOf, operations } from '../api/table.js'
import { nearest } from '../batch/nearest.js'
import { UsageError } from './exit.js'

/** Refuses a word that is no command of its parent, with the one that was probably meant. */
export function checkWord(parent: Command, word: string, path: string = pathOf(parent)): void {
  const names = parent.commands.map((command) => command.name())
  if (names.includes(word)) return
  throw new UsageError(`${path} has no command "${word}".`, `${guess(word, names, path)} See: ${path} --help`)
}

function guess(word: string, names: readonly string[], path: string): string {
  const named = namedByApi(word, path)
  if (named.length > 0) return `Did you mean: ${named.join(' or ')}?`
  const meant = nearest(word, names)
  if (meant !== undefined) return `Did you mean: ${path} ${meant}?`
  const elsewhere = operations().flatMap(({ command }) =>
    command.endsWith(` ${word}`) ? [`prospect ${command}`] : [],
  )
  if (elsewhere.length > 0) return `Did you mean: ${[...new Set(elsewhere)].join(' or ')}?`
  return `It has: ${names.join(', ')}.`
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
export function meantOptions(typed: string, options: readonly string[]): readonly string[] {
  const near = nearest(typed, options)
  if (near !== undefined) return [near]
  const one = singular(typed.replace(/^--/, ''))
  return options.filter((option) => option.split('-').map(singular).includes(one)).slice(0, mostMeant)
}

const singular = (word: string): string => word.replace(/s$/, '')

/** The words that lead to a command. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
