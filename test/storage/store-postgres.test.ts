import { openStore } from '../../src/storage/engine/store.js'
import { describeStore } from '../conformance/store.js'
import { emptySchema } from '../support/postgres.js'

describeStore('PostgreSQL', async () => {
  const schema = await emptySchema()
  const store = await openStore(schema.url)
  return {
    ...store,
    close: async () => {
      await store.close()
      await schema.drop()
    },
  }
})
