import type { Clock, Store } from './ports/ports.js'

/** The clock that all who share a store go by, on whatever machine they are and however wrong its own clock is. */
export const sharedClock = (store: Pick<Store, 'aheadMs'>, clock: Clock): Clock => ({
  now: () => clock.now() + store.aheadMs(),
})
