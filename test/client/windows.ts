import type { PacedOptions } from '../../src/client/paced.js'
import type { ServerWindow } from '../../src/storage/state/remote-servers.js'

/** Rate windows in memory, which several paced callers can share. */
export function sharedWindows(): PacedOptions['windows'] {
  const kept = new Map<string, ServerWindow | undefined>()
  return {
    change: async (owner, names, decide) => {
      const keys = names.map((name) => `${owner} ${name}`)
      const { keep, answer } = decide(keys.map((key) => kept.get(key)))
      for (const [at, key] of keys.entries()) if (keep[at]) kept.set(key, keep[at])
      return answer
    },
  }
}
