import { foldText } from '../normalize/name.js'

/** A person's name in two parts. */
export interface PersonName {
  readonly first: string
  readonly last: string
}

/** The parts of a name as they occur in addresses, whole and as initials; blank when a part is unknown. */
export interface NameForms {
  readonly first: string
  readonly f: string
  readonly last: string
  readonly l: string
}

/** One part of a name, in lower case and without accents. */
interface NamePart {
  readonly words: readonly string[]
  /** As written: with hyphens, without spaces. */
  readonly written: string
}

/** A part of a name in an address. */
interface Form {
  readonly whole: string
  readonly initials: string
}

// biome-ignore format: words
const particles = new Set(['af', 'al', 'av', 'bin', 'da', 'das', 'de', 'del', 'della', 'den', 'der', 'des', 'di', 'do', 'dos', 'du', 'e', 'el', 'het', 'la', 'las', 'le', 'les', 'los', 'op', 't', 'te', 'ten', 'ter', 'van', 'vom', 'von', 'y', 'zu', 'zum', 'zur'])

/** Titles around a name. */
const titles = new Set(['dr', 'ing', 'jr', 'md', 'mba', 'mme', 'mr', 'mrs', 'ms', 'phd', 'prof', 'sir', 'sr'])

/** Letters that become two in ASCII. */
const umlautPairs: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' }

const isParticle = (word: string): boolean => particles.has(word)
const initialsOf = (words: readonly string[]): string => words.map((word) => word.slice(0, 1)).join('')

function withoutParticles(words: readonly string[]): readonly string[] {
  const core = words.filter((word) => !isParticle(word))
  return core.length > 0 ? core : words
}

const createStyle =
  (whole: (part: NamePart) => string) =>
  (part: NamePart): Form => {
    const text = whole(part)
    return { whole: text, initials: text.slice(0, 1) }
  }

const asWritten = createStyle((part) => part.written)
const joined = createStyle(({ words }) => words.join(''))
const hyphenated = createStyle(({ words }) => words.join('-'))
const dotted = createStyle(({ words }) => words.join('.'))
const leading = createStyle(({ words }) => withoutParticles(words)[0] ?? '')
const trailing = createStyle(({ words }) => words.at(-1) ?? '')
const core = createStyle(({ words }) => withoutParticles(words).join(''))
const abbreviated = createStyle(
  ({ words }) => initialsOf(words.filter(isParticle)) + withoutParticles(words).join(''),
)
const inInitials = (part: NamePart): Form => ({ whole: part.written, initials: initialsOf(part.words) })

// The most common style comes first.
const firstStyles = [asWritten, joined, hyphenated, dotted, leading, inInitials]
const lastStyles = [asWritten, joined, hyphenated, dotted, core, leading, trailing, abbreviated]

/**
 * Returns the forms in which addresses spell a name of several words or with accents. The order is the same for all names,
 * the most common form first. A simple name has one form.
 */
export function listNameForms({ first, last }: PersonName): readonly NameForms[] {
  if (/^[a-z]{2,} [a-z]{2,}$/i.test(`${first} ${last}`)) {
    const [given, family] = [first.toLowerCase(), last.toLowerCase()]
    return [{ first: given, f: given.slice(0, 1), last: family, l: family.slice(0, 1) }]
  }
  const plain = spellName({ first, last })
  const paired = { first: spellUmlauts(first), last: spellUmlauts(last) }
  const isPlain = paired.first === first && paired.last === last
  return [...plain, ...(isPlain ? plain : spellName(paired))]
}

/** Returns a name in all styles. */
function spellName({ first, last }: PersonName): readonly NameForms[] {
  const [names, name] = [toPart(dropUnusedInitials(first)), toPart(last)]
  const families = lastStyles.map((style) => style(name))
  return firstStyles
    .map((style) => style(names))
    .flatMap((given) =>
      families.map((family) => ({
        first: given.whole,
        f: given.initials,
        last: family.whole,
        l: family.initials,
      })),
    )
}

const spellUmlauts = (name: string): string =>
  /\P{ASCII}/u.test(name)
    ? name.normalize('NFC').replace(/[äöüåø]/gi, (letter) => umlautPairs[letter.toLowerCase()] ?? letter)
    : name

/** Removes the initials of further first names. */
const dropUnusedInitials = (names: string): string =>
  names.replace(/(?<=[^\s.][^\s.])(?:\s+\p{L}\.?)+\s*$/u, '')

function toPart(name: string): NamePart {
  const chunks = name
    .replace(/\([^)]*\)?|,.*$/gs, ' ')
    .split(/\s+/)
    .map((chunk) =>
      chunk
        .split(/[-‐‑–]/)
        .map(foldWord)
        .filter(Boolean),
    )
    .filter((words) => words.length > 0)
  const core = chunks.filter(([word = '', ...more]) => more.length > 0 || !titles.has(word))
  const kept = core.length > 0 ? core : chunks
  return { words: kept.flat(), written: kept.map((words) => words.join('-')).join('') }
}

const foldWord = (word: string): string => foldText(word).replaceAll(' ', '')
