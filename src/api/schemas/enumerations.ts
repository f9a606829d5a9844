import type { Fields } from '../values/objects.js'
import words from './email-statuses.json' with { type: 'json' }
import labels from './labels.json' with { type: 'json' }

type Labels = Readonly<Record<string, string>>

export const seniorities: Labels = labels.seniorities
export const functions: Labels = labels.functions
export const companyTypes: Labels = labels.companyTypes
/** Names of the industries whose ids are known. */
export const industries: Labels = labels.industries

/** What the names of a field's ids are, and whether servers have ids beside them. */
interface Named {
  readonly labels: Labels
  readonly isOpen?: true
}

const industryNames: Named = { labels: industries, isOpen: true }

/** The fields of requests whose ids have names. */
export const namedFields: Readonly<Record<string, Named>> = {
  functions: { labels: functions },
  seniority_levels: { labels: seniorities },
  company_type: { labels: companyTypes },
  included_industries: industryNames,
  excluded_industries: industryNames,
  industries: industryNames,
}

const toKey = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/** Returns the ids whose name a text is, else those whose name begins with it. */
export function idsNamed(labels: Labels, text: string): string[] {
  const key = toKey(text)
  const ids = Object.keys(labels)
  const exact = ids.filter((id) => toKey(labels[id] ?? '') === key)
  return exact.length > 0 || key === '' ? exact : ids.filter((id) => toKey(labels[id] ?? '').startsWith(key))
}

/** Returns the description of a field where names are taken for ids, as options and flows do. */
export const orByName = (description: string): string => description.replace(/, by id$/, ', by id or name')

/** Returns an input with ids for the names of functions and the like. What names none of them, or several, stays. */
export function withNamedIds(input: Fields): Fields {
  const idOf = (labels: Labels, given: unknown): unknown => {
    const text = String(given)
    if (Object.hasOwn(labels, text) || /^\d+$/.test(text)) return text
    const [id, ...others] = idsNamed(labels, text)
    return id !== undefined && others.length === 0 ? id : given
  }
  return Object.fromEntries(
    Object.entries(input).map(([field, value]) => {
      const labels = namedFields[field]?.labels
      return [field, labels && Array.isArray(value) ? value.map((one) => idOf(labels, one)) : value]
    }),
  )
}

/** Ranges of years (of experience, in a company, in a position) by id: from, up to and including. */
export const years: Readonly<Record<string, readonly [from: number, to: number | null]>> = {
  '1': [0, 0],
  '2': [1, 2],
  '3': [3, 5],
  '4': [6, 10],
  '5': [11, null],
}

/** Company sizes, smallest first; the n-th has the n-th letter of the alphabet in search urls. */
export const companySizes = [
  'Self-employed',
  '1-10',
  '11-50',
  '51-200',
  '201-500',
  '501-1000',
  '1001-5000',
  '5001-10000',
  '10001+',
] as const

export const emailStatuses = ['valid', 'risky', 'invalid'] as const

/** Words of other services for it and for none, without case, spaces and punctuation. */
const statusWords = new Map<string, string | null>(
  Object.entries(words).flatMap(([status, list]) =>
    list.map((word) => [word, status === 'none' ? null : status] as const),
  ),
)

/** Returns the status that a word of any service means, null for none; an unknown word stays as it is. */
export function emailStatusOf(word: string): string | null {
  const known = statusWords.get(word.toLowerCase().replace(/[^a-z]/g, ''))
  return known === undefined ? word : known
}

const successes = /^(finished|completed?|done|success|succeeded)$/i
const failures = /^(failed|failure|error|errored|cancell?ed|aborted|expired|stopped|rejected|timed?_?out)$/i

/** Returns how work has ended, from a word of any service for its status; `undefined` while it goes on. */
export function workStateOf(status: unknown): 'finished' | 'failed' | undefined {
  if (typeof status !== 'string') return undefined
  if (successes.test(status)) return 'finished'
  return failures.test(status) ? 'failed' : undefined
}

/** The statuses of searches that have failed. `RATE_LIMITED` is none of them: it ends. */
export const failedSearchStatuses: readonly unknown[] = ['ERROR', 'UNAUTHORIZED', 'FORBIDDEN']

/** The fields of an import that choose no records. Its preview takes them, too, and ignores them. */
export const importFields = ['webhook_url', 'name', 'limit', 'streaming', 'scale', 'custom'] as const

/** Filters of people that only the network itself can apply. */
export const liveOnlyFilters = [
  'connections_of_profile',
  'relationship',
  'follows_your_company',
  'viewed_your_profile',
  'with_shared_experiences',
  'posted_on_linkedin',
  'past_colleague',
] as const
