import type { Clock } from '../engine/ports/ports.js'

/** What is remembered of a server beyond this process: whether it is known to honour idempotency keys. */
export interface Remembered {
  honours(): Promise<boolean | undefined>
  remember(honours: boolean): Promise<void>
}

/** What is known of a server's idempotency keys. */
export interface Honoured {
  /** Whether it honours them; asks the server where nobody knows yet. */
  ask(): Promise<boolean>
  /** A reply was marked as replayed: it does. */
  seen(): void
}

/** How long the server is left alone after it could not be asked. */
const restMs = 10_000

/**
 * Knows whether a server honours keys: a profile says so, it was seen to, or it says so itself (`probe`). That it does not
 * say so is remembered for this process only, since servers learn.
 */
export function createHonoured(
  remembered: Remembered | undefined,
  probe: () => Promise<boolean | undefined>,
  clock: Clock,
): Honoured {
  let known: boolean | undefined
  let asking: Promise<boolean> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const learn = async (honours: boolean): Promise<void> => {
    if (known === honours) return
    known = honours
    if (honours) await remembered?.remember(honours)
  }
  const find = async (): Promise<boolean> => {
    const before = await remembered?.honours()
    if (before) known = true
    else {
      const said = await probe()
      if (said !== undefined) await learn(said)
    }
    return known === true
  }
  return {
    ask: async () => {
      if (known !== undefined) return known
      if (!asking || clock.now() - askedAt > restMs) {
        askedAt = clock.now()
        asking = find()
      }
      return asking
    },
    seen: () => void learn(true),
  }
}
