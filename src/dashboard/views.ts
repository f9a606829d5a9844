import type { View } from './page/view.js'
import { catalogue } from './views/catalogue.js'
import { engine } from './views/engine.js'
import { inbox } from './views/inbox.js'
import { jobs } from './views/jobs.js'
import { ledger } from './views/ledger.js'
import { overview } from './views/overview.js'
import { runs } from './views/runs.js'
import { tryIt } from './views/try.js'

/** The views in the order of the navigation. */
export const views: readonly View[] = [overview, runs, jobs, inbox, catalogue, ledger, engine, tryIt]
