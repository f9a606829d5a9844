import { areas } from '../../shell/areas.js'
import type { Described, DescribedOption } from '../../shell/command-map.js'

/** A word that can be typed, and what it is for. */
export interface Word {
  readonly name: string
  readonly summary: string
}

/** An option that can be typed; all its spellings. */
export interface Choice extends Word {
  readonly names: readonly string[]
  readonly takesValue: boolean
  readonly values: readonly string[]
}

/** What can be typed after some words of a command. */
export interface Place {
  /** The words after `prospect`; empty at the start. */
  readonly path: string
  readonly words: readonly Word[]
  readonly options: readonly Choice[]
}

/** Every place of the command line, and the options that are the same everywhere. */
export interface Places {
  readonly places: readonly Place[]
  readonly everywhere: readonly Choice[]
}

/** Lays out the command map by place. */
export function placesOf(map: readonly Described[]): Places {
  const paths = new Set(['', ...map.flatMap(({ command }) => prefixes(command))])
  const everywhere = common(map)
  const shared = new Set(everywhere.map(({ name }) => name))
  const places = [...paths].flatMap((path) => {
    const rows = map.filter(({ command }) => command === path)
    const options = choicesOf(rows).filter(({ name }) => !shared.has(name))
    const values = rows.flatMap((row) => row.arguments[0]?.values ?? [])
    const words = [...below(path, paths, map), ...values.map((name) => ({ name, summary: '' }))]
    // Behind the value of an argument the options are the same, and the words are not offered again.
    const behind = values.map((value) => ({ path: `${path} ${value}`, words: [], options }))
    return [{ path, words, options }, ...behind]
  })
  return { places, everywhere }
}

const prefixes = (command: string): string[] =>
  command.split(' ').map((_, at, words) => words.slice(0, at + 1).join(' '))

function below(path: string, paths: ReadonlySet<string>, map: readonly Described[]): Word[] {
  const start = path === '' ? '' : `${path} `
  return [...paths]
    .filter((other) => other !== path && other.startsWith(start) && !other.slice(start.length).includes(' '))
    .filter((other) => other !== '')
    .map((other) => ({ name: other.slice(start.length), summary: summaryOf(other, map) }))
}

const summaryOf = (path: string, map: readonly Described[]): string =>
  areas[path] ?? map.find(({ command }) => command === path)?.summary ?? ''

/** The options of all rows of a command, each once. */
function choicesOf(rows: readonly Described[]): Choice[] {
  const found = new Map<string, Choice>()
  for (const { flag, summary, options } of rows) {
    for (const option of options) if (!found.has(option.name)) found.set(option.name, choiceOf(option))
    if (flag !== undefined && !found.has(flag))
      found.set(flag, { name: flag, names: [flag], summary, takesValue: false, values: [] })
  }
  return [...found.values()]
}

const choiceOf = ({ name, flags, description, takes_value, values = [] }: DescribedOption): Choice => ({
  name,
  names: flags.match(/(?<![\w<-])--?[\w-]+/g) ?? [name],
  // What stands in brackets at its end lists the values, which are offered by themselves.
  summary: description.replace(/ \([^()]*\)$/, ''),
  takesValue: takes_value,
  values,
})

const help: Choice = {
  name: '--help',
  names: ['-h', '--help'],
  summary: 'show help',
  takesValue: false,
  values: [],
}

function common(map: readonly Described[]): Choice[] {
  const [first, ...others] = map
  const isEverywhere = (option: DescribedOption) =>
    others.every(({ options }) =>
      options.some(
        ({ name, flags, description }) =>
          name === option.name && flags === option.flags && description === option.description,
      ),
    )
  return [...(first?.options.filter(isEverywhere).map(choiceOf) ?? []), help]
}

/** Spellings of options that take a value nobody can list, wherever they stand. */
export function freeValued({ places, everywhere }: Places): string[] {
  const all = [...everywhere, ...places.flatMap(({ options }) => options)]
  const plain = new Set(all.filter(({ takesValue }) => !takesValue).flatMap(({ names }) => names))
  const free = all.filter(({ takesValue, values }) => takesValue && values.length === 0)
  return [...new Set(free.flatMap(({ names }) => names))].filter((name) => !plain.has(name))
}

/** Options whose values are known, with the place they stand in; nothing for those that stand everywhere. */
export function valued({ places, everywhere }: Places): { path: string | undefined; choice: Choice }[] {
  const known = (path: string | undefined, options: readonly Choice[]) =>
    options.filter(({ values }) => values.length > 0).map((choice) => ({ path, choice }))
  return [...known(undefined, everywhere), ...places.flatMap(({ path, options }) => known(path, options))]
}
