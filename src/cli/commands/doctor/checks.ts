import { clocks } from './checks/clock.js'
import { database } from './checks/databases.js'
import { environment } from './checks/environment.js'
import { ledger } from './checks/ledger.js'
import { leftovers } from './checks/leftovers.js'
import { localData } from './checks/local-data.js'
import { folders, privateFiles } from './checks/private-files.js'
import { nodeVersion, sqliteVersion } from './checks/programs.js'
import { server } from './checks/server.js'
import { settingsFile, target } from './checks/settings-file.js'
import { fileSystem, freeSpace } from './checks/space.js'
import { webhooks } from './checks/webhooks.js'
import { deliveries, jobs, signingSecret } from './checks/work.js'
import { localKey, sessions, workspace } from './checks/workspace.js'
import type { Check } from './context/scene.js'

/** Everything that is looked at, in the order it is told. */
export const checks: readonly Check[] = [
  { name: 'node', look: nodeVersion },
  { name: 'sqlite', look: sqliteVersion },
  { name: 'environment', look: environment },
  { name: 'folders', look: folders },
  { name: 'files', look: privateFiles },
  { name: 'disk', look: freeSpace },
  { name: 'file system', look: fileSystem },
  { name: 'settings', look: settingsFile },
  { name: 'target', look: target },
  { name: 'engine database', look: (scene) => database(scene, 'engine') },
  { name: 'catalogue database', look: (scene) => database(scene, 'catalogue') },
  { name: 'state database', look: (scene) => database(scene, 'state') },
  { name: 'clock', look: clocks },
  { name: 'workspace', look: workspace },
  { name: 'key', look: localKey },
  { name: 'sessions', look: sessions },
  { name: 'ledger', look: ledger },
  { name: 'jobs', look: jobs },
  { name: 'deliveries', look: deliveries },
  { name: 'signing secret', look: signingSecret },
  { name: 'runs', look: leftovers },
  { name: 'catalogue', look: localData },
  { name: 'server', look: server },
  { name: 'webhooks', look: webhooks },
]
