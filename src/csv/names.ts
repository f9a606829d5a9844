/** Returns a column name without case, accents, spaces and punctuation: `Company Name` and `company_name` are equal. */
export function normaliseName(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/œ/g, 'oe')
    .replace(/æ/g, 'ae')
    .replace(/ø/g, 'o')
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the position of a column by its name, in any spelling; -1 where there is none. */
export function columnNamed(header: readonly string[], name: string): number {
  const exact = header.indexOf(name)
  const plain = normaliseName(name)
  return exact >= 0 || plain === '' ? exact : header.findIndex((column) => normaliseName(column) === plain)
}

/** Returns the candidate nearest to a mistyped word; `undefined` when none is near. */
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

const shortestPart = 4

/** Whether one begins with the other, as `Website` and `Website URL`. */
const isPartOf = (one: string, other: string): boolean =>
  Math.min(one.length, other.length) >= shortestPart && (one.startsWith(other) || other.startsWith(one))

/** Returns the number of letters to insert, remove, change or swap between two words. */
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
