import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/engine/tables/store.js'
import { describeStore } from '../conformance/store.js'

describeStore('SQLite in memory', () => openStore(':memory:'))

describeStore('SQLite in a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-store-'))
  const store = await openStore(join(folder, 'engine.db'))
  return {
    ...store,
    close: async () => {
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
})
