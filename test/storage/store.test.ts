import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { describeStore } from '../conformance/store.js'

describeStore('SQLite in memory', () => openEngineDatabase(':memory:'))

describeStore('SQLite in a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-store-'))
  const store = await openEngineDatabase(join(folder, 'engine.db'))
  return {
    ...store,
    close: async () => {
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
})
