import { once } from '../api/values/objects.js'
import { toCountryCode } from './country.js'
import { foldName, foldText } from './name.js'
import { ascii, toPlainText } from './spelling.js'
import lists from './written-names.json' with { type: 'json' }

/** How a fold of a written name was reached. */
export interface NameReading {
  /** Lower for what is closer to the written name. */
  readonly rank: number
  /** The fold whose `ue` was read as `ü`: the company's own name must have the accent. */
  readonly transcribed?: string
  /** Countries that a removed tag (`[DE]`, `- Munich`) names. */
  readonly countries?: readonly string[]
  /** Whether only a company of those countries may be meant: the tag names a small town, which may be a word as well. */
  readonly isBound?: boolean
}

/** What a tag at the end of a name says about the place. */
export interface TaggedPlace {
  readonly countries: readonly string[]
  readonly isBound: boolean
}

/** Returns the place with a folded name, if it is one. */
type FindTaggedPlace = (folded: string) => TaggedPlace | undefined

/** A name as written, or what remains of it without tags. */
interface Remainder {
  readonly text: string
  readonly place: TaggedPlace | undefined
}

const maxTags = 5
const maxSpellings = 16
/** How many spellings of a name a legal form may follow. */
const maxStems = 3

/**
 * Returns the folds under which a catalogue may have a company whose name was written with marks, tags, other legal forms,
 * abbreviations or look-alike letters. The country chooses the legal forms that may follow. Some names
 * find nothing, on purpose (decision 12).
 */
export function readWrittenName(name: string, findPlace: FindTaggedPlace, country?: string) {
  const folds = new Map<string, NameReading>()
  /** Beginnings of further folds, each of which is followed by a space and one of the forms. */
  const stems = new Map<string, NameReading>()
  let rank = 0
  const add = (fold: string, reading: Omit<NameReading, 'rank'> = {}, to = folds) => {
    if (fold !== '' && !to.has(fold)) to.set(fold, { rank, ...reading })
  }
  for (const side of splitNames(cleanText(name)))
    for (const { text, place } of removeTags(side, findPlace)) {
      const bases = spellBase(text)
      for (const base of bases) add(base, place)
      rank += 1
      for (const base of bases) {
        const { spellings, others } = expandBase(base)
        for (const spelling of [...spellings, ...others]) add(spelling, place)
        for (const spelling of spellings.slice(0, maxStems)) add(spelling, place, stems)
        for (const spelling of removeTranscription(base)) add(spelling, { ...place, transcribed: base })
      }
      for (const spelling of spelledOut(text)) add(removeForms(foldName(spelling)), place)
      rank += 1
    }
  return { folds, stems, forms: keptForms(country) }
}

/** Returns a company's name folded with `ü` as `ue`; of one with `å`, which is `aa` or `a`, both. */
export const foldTranscribed = (name: string): readonly string[] => transcribed(name).map(foldName)

/** Returns a text with letters such as `ü` spelled out, in each way that is usual; nothing where it has none. */
export function spelledOut(text: string): readonly string[] {
  if (ascii.test(text)) return []
  const composed = toPlainText(text).normalize('NFC').toLowerCase()
  return /[äöüåø]/.test(composed) ? transcribed(composed) : []
}

const transcribed = (text: string): readonly string[] => {
  const composed = text.normalize('NFC')
  return /å/i.test(composed)
    ? [transcribe(composed), transcribe(composed.replace(/å/gi, 'a'))]
    : [transcribe(composed)]
}

/** Signs of what a name may have beside it, such as a tag. */
const marks = /[^\p{L}\p{M}\s.,&'-]|\s-\s/u

/**
 * Returns what all readings of a name share: no marks, tags or legal forms, and `ü` as `ue`. It is one name, or two where `å`
 * is written in two ways. `folded` is the folded name.
 */
export function bareNames(name: string, folded = foldName(name)): readonly string[] {
  const isPlain = ascii.test(name)
  if (!marks.test(name)) return (isPlain ? [folded] : foldTranscribed(name)).map(removeForms)
  const [own = name] = splitNames(cleanText(name))
  return foldTranscribed(removeTags(own, () => undefined).at(-1)?.text ?? own).map(removeForms)
}

const transcriptions: Readonly<Record<string, string>> = {
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  å: 'aa',
  ø: 'oe',
}

/** Returns a text with two letters in the place of those that become two in ASCII. */
export const spellUmlauts = (text: string): string =>
  text.normalize('NFC').replace(/[äöüåø]/gi, (letter) => transcriptions[letter.toLowerCase()] ?? letter)

const transcribe = (text: string): string => spellUmlauts(text).toLowerCase()

/** Text that has nothing to clean: words of letters and digits, one space apart. */
const plainWords = /^[a-z0-9]+(?: [a-z0-9]+)*$/i

/** Returns text without marks, entities and invisible characters; letters of another script that look Latin are Latin. */
function cleanText(name: string): string {
  if (plainWords.test(name)) return name
  const text = name
    .replace(/[™®©℠]|\((?:r|tm|c)\)/giu, ' ')
    .replace(/&amp;/gi, '&')
    .replace(/&#0?39;|&apos;|[‘’‚‛′ʼʹ´`＇]/gi, "'")
    .replace(/&quot;|["“”„‟«»″]/gi, ' ')
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .normalize('NFKC')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/(?<![\p{L}.])(?:\p{L}\.){2,}\p{L}(?![\p{L}\p{M}])/gu, (initials) =>
      initials.replaceAll('.', ''),
    )
  const latin = text.replace(/[\p{L}\p{M}]+/gu, toLatinWord)
  return /[a-z]/i.test(text) && !otherScript.test(latin) ? latin : text
}

const otherScript = /[\p{Script=Cyrillic}\p{Script=Greek}]/u

const lookAlikes: Readonly<Record<string, string>> = lists.lookAlikes

/** Returns a word with Latin letters for those that look like them. */
const toLatinWord = (word: string): string =>
  otherScript.test(word) ? [...word].map((letter) => lookAlikes[letter] ?? letter).join('') : word

const careOf = /[\s,(–—-]*(?:^|[\s(])(?:c\/o\b|attn\b|att:|z\.\s?hd\.|zu händen).*$/iu
const former =
  /[\s,(/[–—-]*[\s([](?:formerly|previously|f\/k\/a|fka|anciennement|früher|vormals|ehemals|antes|voorheen|tidigere|tidligere|(?<=[([])(?:was|ex|old name))(?![\p{L}\d])(.*)$/iu
const renamed =
  /^(.+?)(?:\s*[([/]\s*(?:now(?: known as| trading as)?|renamed(?: to)?|jetzt|maintenant|ahora)|[\s,]+(?:n\/k\/a|nka\.?|now known as|now trading as))[\s:]+([^)\]]+)[)\]]?$/iu
const trading =
  /^(.+?)[\s,([–-]+(?:d\/b\/a|dba\.?|t\/a|o\/a|trading (?:as|under(?: the name)?)|doing business as|operating as|a\/k\/a|aka\.?|(?:also|better|commonly) known as|handelnd als|nom commercial)[\s:]+([^)\]]+)[)\]]?$/iu

/** Returns the names in a text: of several, the current one, or the legal one and a trading name that is made of its letters. */
function splitNames(text: string): readonly string[] {
  const addressed = text.replace(careOf, '')
  const [, , current] = renamed.exec(addressed) ?? []
  if (current !== undefined) return [current]
  const own = addressed.replace(former, '')
  const [, legal, brand] = trading.exec(own) ?? []
  if (legal === undefined || brand === undefined) return [own]
  return isMadeOf(foldName(brand), foldName(legal)) ? [legal, brand] : [legal]
}

/** Returns every name in a text, whichever of them is meant: legal, trading, current and former ones. */
export function namesIn(written: string): readonly string[] {
  const text = cleanText(written).replace(careOf, '')
  const [, before = '', current = ''] = renamed.exec(text) ?? []
  const [known = '', earlier = ''] = [text.replace(former, ''), former.exec(text)?.[1] ?? '']
  const [, legal = '', brand = ''] = trading.exec(known) ?? []
  const all = [
    before,
    current,
    known,
    earlier.replace(/^[\s:]*(?:known as|trading as)?|[)\]\s]+$/giu, ''),
    legal,
    brand,
  ]
  return [...new Set(all.map((name) => name.trim()))].filter((name) => name !== '')
}

/** Returns whether a name is an abbreviation of another, or begins with a word of it. A franchise carries an unrelated name. */
function isMadeOf(brand: string, legal: string): boolean {
  const [first = '', ...more] = brand.split(' ')
  if (first.length > 3 && legal.split(' ').includes(first)) return true
  const core = more.every((word) => word === 'group' || word === 'and') ? first : brand.replaceAll(' ', '')
  if (core[0] !== legal[0]) return false
  let at = 0
  for (const letter of legal) if (letter === core[at]) at += 1
  return at === core.length
}

const toSet = (texts: readonly string[]): ReadonlySet<string> => new Set(texts.map((text) => foldText(text)))

/** The lists, folded on first use: most names are found as they are. */
const folded = once(() => ({
  forms: Map.groupBy(
    [...toSet(Object.values(lists.legalForms).flat())].map((form) => form.split(' ')).sort(byLength),
    (words) => words.at(-1),
  ),
  countries: groupCountries(),
  leading: [...toSet(lists.leadingForms)].map((form) => form.split(' ')).sort(byLength),
  regions: toSet(lists.regions),
  headquarters: toSet(lists.headquarters),
  recordTags: toSet(lists.recordTags),
  cities: toSet(lists.cities),
  offices: new RegExp(`^(?:(?:${lists.offices.join('|')}) )+|(?: (?:${lists.offices.join('|')}))+$`),
  tails: new Map<string | undefined, readonly string[]>(),
  ands: new RegExp(`(?<=\\S) (?:${lists.and.join('|')}) (?=\\S)`, 'giu'),
}))

function groupCountries(): ReadonlyMap<string, ReadonlySet<string>> {
  const countries = new Map<string, Set<string>>()
  for (const [country, forms] of Object.entries(lists.legalForms))
    for (const form of toSet(forms)) countries.set(form, (countries.get(form) ?? new Set()).add(country))
  return countries
}

const byLength = (one: readonly string[], other: readonly string[]): number => other.length - one.length

/** Returns a text, then what remains each time when a tag is removed from an end of it. */
function removeTags(text: string, findPlace: FindTaggedPlace): readonly Remainder[] {
  let rest: Remainder | undefined = { text, place: undefined }
  const remainders = [rest]
  while (rest && remainders.length <= maxTags) {
    rest = removeTag(rest, findPlace)
    if (rest) remainders.push(rest)
  }
  return remainders
}

const leadingTag =
  /^(?:\[([^\]]+)\]|\(([^)]+)\)|\*+([^*]+)\*+|(zzz+|xxx+|duplicate|dupe|dnu|do not use)(?=[\s:–-]))[\s:–—-]*(.+)$/iu
const bracketed = /^(.*?)[\s,–—-]*[([{]([^()[\]{}]+)[)\]}]$/u
const separated =
  /^(.+?)(?:\s+(?:-|\/\/?|\*+|\||@)\s*|\s*[–—|]\s*|\s*(,)\s*|_|\*+)((?:(?!\s[-/|@]\s|[–—|,_*]).)+)\**$/u
const spaced =
  /^(.+?)\s+((?:(?:[Gg]lobal|[Gg]roup|[Cc]orporate|[Ww]orld) )?(?:HQ|hq|[Hh]eadquarters|[Hh]ead [Oo]ffice)|[A-Z]{4,5})$/u
const numbered = /^(.+?)\s+(?:(?:#|(?:id|acct|account)\b[.:#\s]*)\s*\d+|\d{5,})$/iu
const number = /^(?:(?:id|acct|account)\b[.:#\s]*)?#?\s*(?:\d|\d{4,})$/iu

/** Returns a text without one tag at its beginning or end: whose record it is, a place, or a number. */
function removeTag({ text, place }: Remainder, findPlace: FindTaggedPlace): Remainder | undefined {
  const bare = text.replace(/^[*\s]+(?=[^*]+$)|^\*+\s+|\s+\*+$/g, '').trim()
  if (bare !== text && bare !== '') return { text: bare, place }
  const [, square, round, starred, plain, after] = leadingTag.exec(text) ?? []
  if (after !== undefined && (plain ?? isRecordTag(square ?? round ?? starred ?? '')))
    return { text: after, place }
  const [, numberless] = numbered.exec(text) ?? []
  if (numberless !== undefined) return { text: trimEnd(numberless), place }
  const [, beforeBracket, inBracket] = bracketed.exec(text) ?? []
  const [, beforeSeparator, comma, behind] = separated.exec(text) ?? []
  const [, beforeSpace, last] = spaced.exec(text) ?? []
  for (const [before, tag, isComma] of [
    [beforeBracket, inBracket, false],
    [beforeSeparator, behind, comma !== undefined],
    [beforeSpace, last, true],
  ] as const) {
    if (!before || tag === undefined) continue
    if (isRecordTag(tag) || (!isComma && number.test(tag.trim())) || folded().regions.has(foldText(tag)))
      return { text: trimEnd(before), place }
    if (before === beforeSpace) continue
    const found = toTaggedPlace(tag.trim(), findPlace)
    if (found) return { text: trimEnd(before), place: found }
  }
  return undefined
}

const trimEnd = (text: string): string => text.replace(/[\s,:–—-]+$/u, '')

const isRecordTag = (tag: string): boolean =>
  folded().recordTags.has(foldText(tag)) || folded().headquarters.has(foldText(tag))

function toTaggedPlace(tag: string, findPlace: FindTaggedPlace): TaggedPlace | undefined {
  const text = foldText(tag)
  const isForm = folded()
    .forms.get(text.split(' ').at(-1))
    ?.some((words) => words.join(' ') === text)
  if (isForm || text === '') return undefined
  const country = /^(?:\p{Ll}{2,3}|\p{L}|\d+)$/u.test(tag) ? undefined : toCountryCode(tag)
  if (country !== undefined) return { countries: [country], isBound: false }
  const city = text.replace(folded().offices, '')
  if (city !== text || folded().cities.has(text)) return { countries: [], isBound: false }
  return findPlace(text)
}

/** Returns the folds of a name with and without legal forms, nearest first. */
function spellBase(text: string): ReadonlySet<string> {
  const ands = text.replace(folded().ands, ' & ')
  const spellings = new Set([text, text.replace(/(\p{L}) s(?=\s|$)/giu, '$1s'), ands])
  const whole = new Set([...spellings].map((spelling) => foldText(spelling)))
  const [first = ''] = whole
  const joined = /^[ldo] \p{L}{3}/u.test(first) ? [first.replace(' ', '')] : []
  const bases = [...whole, ...joined].map(removeForms)
  return new Set([...new Set([text, ...whole, ...bases])].map((base) => foldName(base)))
}

/** Returns a folded name without the legal forms of any country, at both ends. */
function removeForms(name: string): string {
  const attached = lists.attachedForms.find((form) => name.length > form.length && name.endsWith(form))
  let words = (attached ? name.slice(0, -attached.length) : name).split(' ')
  for (;;) {
    const form = findLastForm(words)
    const lead = folded().leading.find(
      (form) => form.length < words.length && form.every((word, at) => word === words[at]),
    )
    if (form) words = words.slice(0, -form.length)
    else if (lead) words = words.slice(lead.length)
    else return words.join(' ')
    if (form && /^(?:co|cie|company)$/.test(form[0] ?? '') && words.length > 1 && words.at(-1) === 'and')
      words = words.slice(0, -1)
  }
}

/** Returns the longest legal form at the end of the words of a name. */
const findLastForm = (words: readonly string[]): readonly string[] | undefined =>
  folded()
    .forms.get(words.at(-1))
    ?.find(
      (form) => form.length < words.length && form.every((word, at) => word === words.at(at - form.length)),
    )

/** Returns the countries that have the legal form at the end of a name; `undefined` without one that says something. */
export function findFormCountries(name: string): ReadonlySet<string> | undefined {
  // Plain text has nothing to clean, and this stands on the way of names that are found as written.
  const text = ascii.test(name) ? name : cleanText(name)
  const form = findLastForm(foldText(text.replace(countryTag, '')).split(' '))?.join(' ')
  return form === undefined || anywhere.test(form) ? undefined : folded().countries.get(form)
}

/** A tag that may be a country or a legal form, such as `(PT)`. */
const countryTag = /[([/,|–—-]\s?\p{Lu}{2}[)\]]?$/u
/** Legal forms that are words of names, or stand for another in English. */
const anywhere = /^(?:and )?(?:co|cie|company|corp|corporation|ltd|limited|plc|na)\b/

const alternatives = once(() => {
  const others = new Map<string, string[]>()
  const add = (word: string, other: string) => others.set(word, [...(others.get(word) ?? []), other])
  for (const [short, words] of Object.entries(lists.abbreviations))
    for (const word of words) {
      add(short, word)
      add(word, short)
    }
  return others
})

/** Returns further folds of a name: abbreviations written out or made, and others with the article or another "and". */
function expandBase(base: string) {
  const bare = base.replace(/^the (?=.)/, '').replace(/ the$/, '')
  let spellings = [bare]
  for (const [at, word] of bare.split(' ').entries()) {
    const others = alternatives().get(word) ?? []
    const more = others.flatMap((other) =>
      spellings.map((spelling) => spelling.split(' ').with(at, other).join(' ')),
    )
    if (spellings.length + more.length <= maxSpellings) spellings = [...spellings, ...more]
  }
  const ands = bare.includes(' and ') ? lists.and.map((and) => bare.replaceAll(' and ', ` ${and} `)) : []
  const others = [...spellings.map((spelling) => `the ${spelling}`), ...ands]
  return { spellings, others }
}

/** Returns what folded names keep of the legal forms of a country, or of all countries. */
function keptForms(country: string | undefined): readonly string[] {
  const { tails } = folded()
  const known = tails.get(country)
  if (known) return known
  const forms: Readonly<Record<string, readonly string[]>> = lists.legalForms
  const given = (country === undefined ? undefined : forms[country]) ?? Object.values(forms).flat()
  const kept = new Set(given.map((form) => foldName(`a1 ${form}`).slice(3)))
  kept.delete('')
  const sorted = [...kept].sort()
  tails.set(country, sorted)
  return sorted
}

/** Returns a folded name with `ue` read as `ü` in every choice of places; with many of them, in all. */
function removeTranscription(base: string): readonly string[] {
  const places = [...base.matchAll(/ae|oe|ue|aa/g)].map(({ index }) => index + 1)
  if (places.length === 0) return []
  const without = (chosen: readonly number[]): string =>
    [...base].filter((_, at) => !chosen.includes(at)).join('')
  if (places.length > 4) return [without(places)]
  return Array.from({ length: 2 ** places.length - 1 }, (_, choice) =>
    without(places.filter((_, at) => ((choice + 1) >> at) & 1)),
  )
}
