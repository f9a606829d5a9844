import { foldName, foldPersonName } from '../identity/name.js'
import { toE164 } from '../identity/phone.js'
import { parseProfile } from '../identity/profile.js'
import { toDomain, toEmail } from '../identity/value-kinds.js'
import { namesIn, readWrittenName } from '../identity/written-name.js'

/** Whom a request or an answer is about. */
export interface Subject {
  /** What identifies a subject alone, as it is written, each after a letter for what it is, such as `d acme.example`. */
  readonly marks: readonly string[]
  readonly name?: string | undefined
  /** Domain or name of a person's company, which identifies the person together with the name. */
  readonly company?: string | undefined
}

export type Kind = 'company' | 'person' | 'number' | 'record'

/** Whom a request is about. */
export interface AskedSubjects {
  readonly kind: Kind
  readonly subjects: readonly Subject[]
  readonly keys: readonly string[]
}

/** Whether a key is the name of a person, without a company. */
export const isName = (key: string): boolean => key.startsWith('n ')

/** Returns the keys of subjects. Any spelling of what identifies a subject has the same key. */
export const keysOf = (kind: Kind, subjects: readonly Subject[]): readonly string[] => [
  ...new Set(subjects.flatMap((subject) => [...subject.marks.map(keyOf), ...nameKeys(kind, subject)])),
]

function keyOf(mark: string): string {
  const [letter, text] = [mark[0], mark.slice(2)]
  if (letter === 'd') return `d ${domainOf(text) ?? text.toLowerCase()}`
  if (letter === 'e') return `e ${toEmail(text) ?? text.toLowerCase()}`
  if (letter === 't') return `t ${toE164(text) ?? text}`
  const profile = letter === 'u' ? parseProfile(text) : undefined
  if (!profile) return mark
  return profile.id === undefined ? `u ${profile.kind} ${profile.slug}` : `i ${profile.id}`
}

/** Returns the domain that is asked for with an address, also at a provider of free mailboxes. */
const domainOf = (text: string): string | undefined =>
  toDomain(text) ?? toDomain(text.slice(text.lastIndexOf('@') + 1))

/** A person is identified by the name alone where it is no other name than that of the request; see `mayBeOwn`. */
function nameKeys(kind: Kind, { name, company }: Subject): readonly string[] {
  if (kind !== 'person' || name === undefined) return []
  const folded = foldPersonName(name)
  if (company === undefined) return [`n ${folded}`]
  return [`n ${folded}`, `c ${folded} ${toDomain(company) ?? foldName(company)}`]
}

/**
 * Whether an answer that identifies another request can be a request's own all the same: its domain has the same name
 * under another top-level domain, or its name is the one asked for and not that of the other request.
 */
export function mayBeOwn(
  { kind, subjects }: AskedSubjects,
  answers: readonly Subject[],
  other: AskedSubjects,
): boolean {
  const labels = kind === 'company' ? labelsOf(answers) : []
  if (labels.length > 0 && labelsOf(subjects).some((label) => labels.includes(label))) return true
  const [asked, answered, others] = [subjects, answers, other.subjects].map(namesOf) as [Names, Names, Names]
  const isNamed = asked.some((name) => answered.some((found) => isSameName(kind, name, found)))
  const isOnlyNamed = kind === 'person' && !identifies(answers, other)
  if (isOnlyNamed) return isNamed || asked.length === 0
  const isNameOfOther = asked.some((name) => others.some((one) => isSameName(kind, name, one)))
  const hasMarks = subjects.some(({ marks }) => marks.length > 0)
  return isNamed && (!isNameOfOther || (kind === 'company' && !hasMarks))
}

type Names = readonly string[]

const namesOf = (subjects: readonly Subject[]): Names =>
  subjects.flatMap(({ name }) => (name === undefined ? [] : [name]))

const identifies = (answers: readonly Subject[], { keys }: AskedSubjects): boolean =>
  keysOf('person', answers).some((key) => !isName(key) && keys.includes(key))

function isSameName(kind: Kind, one: string, other: string): boolean {
  if (kind === 'company') return isWrittenAs(one, other) || isWrittenAs(other, one)
  const [fewer = [], more = []] = [one, other]
    .map((name) => foldPersonName(name).split(' '))
    .sort((a, b) => a.length - b.length)
  // A middle name may be missing.
  return fewer.length > 1 && fewer.every((word) => more.includes(word))
}

/** Whether lists write a company's name so, with tags (`[DE]`, `- EMEA`), former names or another legal form. */
const isWrittenAs = (written: string, name: string): boolean =>
  [written, ...namesIn(written)].some((one) => isOneName(one, name))

function isOneName(written: string, name: string): boolean {
  const fold = foldName(name)
  if (foldName(written) === fold) return true
  // Which place a tag names does not matter here.
  const { folds, stems, forms } = readWrittenName(written, () => ({ countries: [], isBound: false }))
  return (
    folds.has(fold) ||
    [...stems.keys()].some(
      (stem) => fold.startsWith(`${stem} `) && forms.includes(fold.slice(stem.length + 1)),
    )
  )
}

/** Returns the registered names without their top-level domains. */
const labelsOf = (subjects: readonly Subject[]): readonly string[] =>
  subjects.flatMap(({ marks }) =>
    marks.flatMap((mark) => (mark.startsWith('d ') ? (domainOf(mark.slice(2))?.split('.', 1) ?? []) : [])),
  )
