import { afterAll } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { describeStore } from '../conformance/store.js'
import { emptyEngine, emptySchema, type TestDatabase } from '../support/postgres.js'

let opened: { readonly schema: TestDatabase; readonly store: Driver } | undefined

async function open() {
  const schema = await emptySchema()
  return { schema, store: await openEngineDatabase(schema.url) }
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
