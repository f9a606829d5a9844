/** The names a person may have meant, nearest first: at most three, none when all are too far. */
export function nearest(word: string, names: readonly string[]): string[] {
  const tolerance = Math.max(1, Math.floor(word.length * 0.4))
  return [...new Set(names)]
    .map((name) => ({ name, distance: distance(word.toLowerCase(), name.toLowerCase()) }))
    .filter((each) => each.distance <= Math.min(3, tolerance))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** Letters to add, drop, change or swap with their neighbour. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const changed = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed)
      row[j] = swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least
    }
    before = last
    last = row
  }
  return last[to.length] ?? 0
}
