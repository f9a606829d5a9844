import type { Provider } from '../../engine/ports/ports.js'
import type { Driver } from '../../storage/driver/connection.js'
import { patternProvider } from './pattern-provider.js'
import { verifiedProvider } from './verified-provider.js'

/** The steps of a waterfall over the catalogue, in the order they are tried: what is known, then what can be learnt. */
export const providersOver = (driver: Driver): readonly Provider[] => [
  verifiedProvider(driver),
  patternProvider(driver),
]
