import type { View } from './page/view.js'
import { overview } from './views/overview.js'

/** The views in the order of the navigation. */
export const views: readonly View[] = [overview]
