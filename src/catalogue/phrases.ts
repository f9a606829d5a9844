import type { Value } from '../storage/driver.js'

/** Texts that can be searched by words, with the columns that are. */
interface Searched {
  readonly people_text: 'name' | 'title' | 'about'
  readonly jobs_text: 'title' | 'description'
}

/** A condition in SQL with the values of its places. */
export type Condition = readonly [sql: string, ...values: Value[]]

/** Records one of whose columns holds at least one of some phrases: words next to each other, accents and case aside. */
export const holdsAny = <T extends keyof Searched>(
  texts: T,
  column: Searched[T],
  phrases: readonly string[],
): Condition => [
  `key IN (SELECT rowid FROM ${texts} WHERE ${texts} MATCH ?)`,
  `${column} : (${phrases.map((phrase) => `"${phrase.replaceAll('"', '""')}"`).join(' OR ')})`,
]

/** The records that a condition does not hold for. */
export const not = ([sql, ...values]: Condition): Condition => [`NOT (${sql})`, ...values]

/** All conditions; none is always fulfilled. */
export const every = (conditions: readonly Condition[]): Condition => [
  conditions.map(([sql]) => `(${sql})`).join(' AND ') || 'TRUE',
  ...conditions.flatMap(([, ...values]) => values),
]

/** Conditions of the lists that say something. */
export const given = (
  lists: readonly (readonly [
    items: readonly string[] | undefined,
    of: (items: readonly string[]) => Condition,
  ])[],
): Condition[] => lists.flatMap(([items, of]) => (items?.length ? [of(items)] : []))
