import { afterAll } from 'vitest'
import type { Store } from '../../src/engine/ports/ports.js'
import { openStore } from '../../src/engine/tables/store.js'
import { describeStore } from '../conformance/store.js'
import { emptyEngine, emptySchema, type TestDatabase } from '../support/postgres.js'

let opened: { readonly schema: TestDatabase; readonly store: Store } | undefined

async function open() {
  const schema = await emptySchema()
  return { schema, store: await openStore(schema.url) }
}

afterAll(async () => {
  await opened?.store.close()
  await opened?.schema.drop()
})

// Each test finds the same store empty: to open one takes longer than most of them.
describeStore('PostgreSQL', async () => {
  opened ??= await open()
  const { schema, store } = opened
  return { ...store, close: async () => void (await emptyEngine(schema)) }
})
