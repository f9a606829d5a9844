/** Numbers between 0 and 1 that look random and depend on a seed alone. */
export function dice(seed) {
  let state = (seed + 1) * 2_654_435_761
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** One of a list. */
export const pick = (list, throwDice) => list[Math.floor(throwDice() * list.length)]
