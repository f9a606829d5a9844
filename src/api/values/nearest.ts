/** Returns the candidate that a mistyped word most likely means; `undefined` when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const typed = word.toLowerCase()
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distance(typed, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  if (best && best.distance <= Math.max(1, Math.floor(word.length / 3))) return best.candidate
  const longer = candidates.filter((candidate) => isPartOf(typed, candidate.toLowerCase()))
  return longer.length === 1 ? longer[0] : undefined
}

/** Returns the nearest candidate, else the first that has the longest part in common with a word. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const near = nearest(word, candidates)
  if (near !== undefined) return near
  const shared = candidates.map((candidate) => lengthInCommon(word.toLowerCase(), candidate))
  return candidates[shared.indexOf(Math.max(...shared))]
}

/** Returns so many candidates at most: the one that was mistyped, then those in which a word begins with the longest part of this one; none where nothing is alike. */
export function nearestOf(word: string, candidates: readonly string[], most: number): string[] {
  const typed = word.toLowerCase()
  const near = nearest(word, candidates)
  const ranked = candidates
    .map((name) => ({ name, shared: lengthAtWords(typed, name.toLowerCase()) }))
    .filter(({ shared }) => shared >= minPartLength)
    .sort((a, b) => b.shared - a.shared)
    .map(({ name }) => name)
  return [...new Set([...(near === undefined ? [] : [near]), ...ranked])].slice(0, most)
}

/** Returns the length of the longest part that two words have in common. */
function lengthInCommon(one: string, other: string): number {
  let longest = 0
  for (let from = 0; from + longest < one.length; from++)
    while (from + longest < one.length && other.includes(one.slice(from, from + longest + 1))) longest++
  return longest
}

/** Returns the length of the longest part of a word that begins where a word of the other does: `tics` of `robotics` is none of `logistics`. */
function lengthAtWords(one: string, other: string): number {
  let longest = 0
  for (const { index } of other.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu))
    while (one.includes(other.slice(index, index + longest + 1)) && index + longest < other.length) longest++
  return longest
}

const minPartLength = 4

/** Whether one begins with the other, as `Website` and `Website URL`. */
const isPartOf = (one: string, other: string): boolean =>
  Math.min(one.length, other.length) >= minPartLength && (one.startsWith(other) || other.startsWith(one))

/** Letters to insert, remove, change or swap to get from one word to the other. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + change,
        swapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = row
  }
  return last[to.length] ?? 0
}
