import type { PacedWindow, Windows } from '../../src/client/paced.js'

/** Rate windows in memory, which several paced callers can share. */
export function sharedWindows(): Windows {
  const kept = new Map<string, PacedWindow | undefined>()
  return {
    change: async (owner, names, decide) => {
      const keys = names.map((name) => `${owner} ${name}`)
      const { keep, answer } = decide(keys.map((key) => kept.get(key)))
      for (const [at, key] of keys.entries()) if (keep[at]) kept.set(key, keep[at])
      return answer
    },
  }
}
