import { clocks } from './clock.js'
import { database } from './database-checks.js'
import { environment } from './environment.js'
import { ledger } from './ledger.js'
import { leftovers } from './leftovers.js'
import { localData } from './local-data.js'
import { folders, privateFiles } from './private-files.js'
import { nodeVersion, sqliteVersion } from './programs.js'
import type { Check } from './scene.js'
import { server } from './server.js'
import { settingsFile, target } from './settings-file.js'
import { fileSystem, freeSpace } from './space.js'
import { webhooks } from './webhooks.js'
import { deliveries, jobs, signingSecret } from './work.js'
import { localKey, sessions, workspace } from './workspace.js'

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
