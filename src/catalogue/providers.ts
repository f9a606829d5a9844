import type { Provider } from '../engine/ports.js'
import type { Driver } from '../storage/driver.js'

/** The steps of a waterfall over the catalogue, in the order they are tried. */
export const providersOver = (_driver: Driver): readonly Provider[] => []
